package conduct

import (
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// expected returns a function that estimates how long a run of a cell takes. The estimate is the mean time of the
// cell's completed runs or, if there are none, of its failed runs. If no run of the cell has ended, it scales the
// plan's estimate by the ratio of measured to estimated times of the other cells.
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

// times is a number of runs and the sum of their times.
type times struct {
	seconds float64
	runs    int
}

func (t *times) add(seconds float64) { t.seconds, t.runs = t.seconds+seconds, t.runs+1 }
func (t times) mean() float64        { return t.seconds / float64(t.runs) }

// left estimates the total time of all runs that have not ended; 0 means unknown.
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

// spent returns the total time of the sweep's runs, including failed and interrupted runs. If psbench is killed, the
// journals lack the time of its current run.
func spent(events []journal.Event) time.Duration {
	seconds := 0.0
	for _, e := range events {
		seconds += max(0, e.Seconds)
	}
	const most = 100 * 365 * 24 * 3600 // largest value that fits into a Duration
	return time.Duration(min(seconds, most) * float64(time.Second))
}
