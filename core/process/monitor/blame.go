package monitor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/quote"
)

// blame is one failure from the point of view of one process. blame is either the death of this process or a failure
// that the process reported.
type blame struct {
	from    string
	death   error
	failure fault.Failure
	at      time.Time // time of arrival
}

// grace returns how long the monitor waits for a better explanation than b.
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

// about returns the processes that may have caused b.
func (b *blame) about() []string {
	if b.death == nil && len(b.failure.About) > 0 {
		return b.failure.About
	}
	return []string{b.from}
}

// explain returns the failure that caused the others. explain prefers a death, then an error of a part, then a wait
// that timed out, then a broken link. Among waits, it prefers a wait for a process that did not itself wait.
func explain(blames []blame) error {
	b := rootCause(blames)
	if b.death != nil {
		return b.death
	}
	return errors.New(quote.Message(b.failure.Message))
}

// noSign returns the error of explain, and adds that the process silent sends no heartbeats.
func noSign(blames []blame, silent string) error {
	return fmt.Errorf("%w; %s sends no heartbeat", explain(blames), silent)
}

// awaited reports whether another process timed out while it waited for the named process.
func awaited(name string, blames []blame) bool {
	return slices.ContainsFunc(blames, func(b blame) bool {
		return b.from != name && b.failure.Cause == fault.Wait && slices.Contains(b.failure.About, name)
	})
}

// anyOf reports whether some and others have a name in common.
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

// waitsForWaiter reports whether all processes for which b waited have themselves reported a wait or a lost process. If
// so, the cause is further along the chain. A process that reports its own failure waits for no one.
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
