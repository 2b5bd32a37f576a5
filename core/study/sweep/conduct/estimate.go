package conduct

import (
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// expected is how long a run will take: the mean of those of its cell that are done, or else of those
// that failed. Of a cell that has neither it is what the plan expects of it, times what the others took
// of what was expected of them.
func (a Account) expected(p *sweep.Plan) func(cell int) time.Duration {
	done, failed := make([]times, len(p.Cells)), make([]times, len(p.Cells))
	var took, planned times
	for _, e := range a {
		switch {
		case e.Seconds <= 0:
		case e.State == journal.Failed:
			failed[e.Cell].add(e.Seconds)
		case e.State == journal.Done:
			done[e.Cell].add(e.Seconds)
			took.add(e.Seconds)
			planned.add(p.Cells[e.Cell].Expected.Seconds())
		}
	}
	return func(cell int) time.Duration {
		seconds := p.Cells[cell].Expected.Seconds()
		switch {
		case done[cell].runs > 0:
			seconds = done[cell].mean()
		case failed[cell].runs > 0:
			seconds = failed[cell].mean()
		case planned.seconds > 0 && seconds > 0:
			seconds *= took.seconds / planned.seconds
		case took.runs > 0:
			seconds = took.mean()
		}
		return time.Duration(seconds * float64(time.Second))
	}
}

// times are those of some runs.
type times struct {
	seconds float64
	runs    int
}

func (t *times) add(seconds float64) { t.seconds, t.runs = t.seconds+seconds, t.runs+1 }
func (t times) mean() float64        { return t.seconds / float64(t.runs) }

// left is how long the runs that are still to come will take, 0 if nothing tells.
func (a Account) left(p *sweep.Plan) time.Duration {
	expected := a.expected(p)
	var left time.Duration
	for _, e := range a {
		if !settled(e.State) {
			left += expected(e.Cell)
		}
	}
	return left
}

// spent is how long the runs of a sweep took, those too that failed or were interrupted. The time of one
// that was killed nobody knows.
func spent(events []journal.Event) time.Duration {
	seconds := 0.0
	for _, e := range events {
		seconds += max(0, e.Seconds)
	}
	const most = 100 * 365 * 24 * 3600 // fits
	return time.Duration(min(seconds, most) * float64(time.Second))
}
