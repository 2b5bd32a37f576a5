package conduct

import (
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// expected returns a function that estimates how long a run of a cell takes. The estimate is the mean of the cell's
// runs that are done, or else of its failed runs. For a cell without either, it scales the plan's estimate by the ratio
// of measured to estimated times of the other cells.
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

// times sums the times of some runs.
type times struct {
	seconds float64
	runs    int
}

func (t *times) add(seconds float64) { t.seconds, t.runs = t.seconds+seconds, t.runs+1 }
func (t times) mean() float64        { return t.seconds / float64(t.runs) }

// left estimates how long all runs that have not ended will take together; 0 means unknown.
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

// spent returns how long the runs of a sweep took, including failed and interrupted runs. The journals do not have the
// time of a run whose psbench was killed.
func spent(events []journal.Event) time.Duration {
	seconds := 0.0
	for _, e := range events {
		seconds += max(0, e.Seconds)
	}
	const most = 100 * 365 * 24 * 3600 // fits into a Duration
	return time.Duration(min(seconds, most) * float64(time.Second))
}
