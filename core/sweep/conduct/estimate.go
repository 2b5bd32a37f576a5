package conduct

import (
	"time"

	"github.com/psbench/psbench/core/sweep"
	"github.com/psbench/psbench/core/sweep/journal"
)

// expected is how long a run will take: the mean of those of its cell that are done. Of a cell that
// has none it is what the plan expects of it, times what the others took of what was expected of
// them.
func (a Account) expected(p *sweep.Plan) func(cell int) time.Duration {
	type sum struct {
		seconds float64
		runs    int
	}
	cells := make([]sum, len(p.Cells))
	var took, planned sum
	for _, e := range a {
		if e.State != journal.Done || e.Seconds <= 0 {
			continue
		}
		c := &cells[e.Cell]
		c.seconds, c.runs = c.seconds+e.Seconds, c.runs+1
		took.seconds, took.runs = took.seconds+e.Seconds, took.runs+1
		planned.seconds += p.Cells[e.Cell].Expected.Seconds()
	}
	return func(cell int) time.Duration {
		seconds := p.Cells[cell].Expected.Seconds()
		switch c := cells[cell]; {
		case c.runs > 0:
			seconds = c.seconds / float64(c.runs)
		case planned.seconds > 0 && seconds > 0:
			seconds *= took.seconds / planned.seconds
		case took.runs > 0:
			seconds = took.seconds / float64(took.runs)
		}
		return time.Duration(seconds * float64(time.Second))
	}
}

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
