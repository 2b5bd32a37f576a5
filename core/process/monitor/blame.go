package monitor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/quote"
)

// blame is one failure as one process saw it: its own death, or what it told.
type blame struct {
	from    string
	death   error
	failure fault.Failure
	at      time.Time // when it came
}

// grace is how long to wait for a better explanation than b.
func (b *blame) grace() time.Duration {
	switch {
	case b.death != nil:
		return 0
	case b.failure.Cause == fault.Peer:
		return graceForDeath
	case b.failure.Cause == fault.Wait:
		return graceForWait
	default:
		return graceForPlain
	}
}

// about are the processes to which the blame leads.
func (b *blame) about() []string {
	if b.death == nil && len(b.failure.About) > 0 {
		return b.failure.About
	}
	return []string{b.from}
}

// explain finds the failure that caused the others: a death; else an error of a
// part; else, among waits in vain, the one for a process that waited for nobody
// itself; else a broken link.
func explain(blames []blame) error {
	b := rootCause(blames)
	if b.death != nil {
		return b.death
	}
	return errors.New(quote.Message(b.failure.Message))
}

// noSign is explain of a wait that ended at a process which gives no sign of life.
func noSign(blames []blame, silent string) error {
	return fmt.Errorf("%w; %s gives no sign of life", explain(blames), silent)
}

// awaited says whether somebody else told of a wait for a process.
func awaited(name string, blames []blame) bool {
	return slices.ContainsFunc(blames, func(b blame) bool {
		return b.from != name && b.failure.Cause == fault.Wait && slices.Contains(b.failure.About, name)
	})
}

// anyOf says whether one of some names is among others.
func anyOf(some, others []string) bool {
	return slices.ContainsFunc(some, func(name string) bool { return slices.Contains(others, name) })
}

func rootCause(blames []blame) blame {
	rank := func(b blame) int {
		switch {
		case b.death != nil:
			return -1
		case b.failure.Cause == fault.Peer:
			return 3
		case b.failure.Cause != fault.Wait:
			return 0
		case waitsForWaiter(b, blames):
			return 2
		default:
			return 1
		}
	}
	return slices.MinFunc(blames, func(a, b blame) int { return rank(a) - rank(b) })
}

// waitsForWaiter says whether all of those that b waited for told of a wait of
// their own for somebody else, or that they lost one, so that the cause lies further on. A process
// that tells of itself waits for nobody.
func waitsForWaiter(b blame, blames []blame) bool {
	for _, name := range b.failure.About {
		if !slices.ContainsFunc(blames, func(o blame) bool {
			waits := o.failure.Cause == fault.Wait && !slices.Contains(o.failure.About, o.from)
			lost := o.failure.Cause == fault.Peer && !slices.Contains(o.failure.About, b.from)
			return o.from == name && (waits || lost)
		}) {
			return false
		}
	}
	return true
}
