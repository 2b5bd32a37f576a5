package monitor

import (
	"errors"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/host/fault"
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
	if b.death == nil && (b.failure.Cause == fault.Wait || b.failure.Cause == fault.Peer) && len(b.failure.About) > 0 {
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
// their own, or that they lost somebody else, so that the cause lies further on.
func waitsForWaiter(b blame, blames []blame) bool {
	for _, name := range b.failure.About {
		if !slices.ContainsFunc(blames, func(o blame) bool {
			lost := o.failure.Cause == fault.Peer && !slices.Contains(o.failure.About, b.from)
			return o.from == name && (o.failure.Cause == fault.Wait || lost)
		}) {
			return false
		}
	}
	return true
}
