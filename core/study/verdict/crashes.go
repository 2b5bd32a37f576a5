package verdict

import (
	"fmt"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/screen"
)

// DefaultMostFailed is the share of failed runs above which a cell cannot win.
const DefaultMostFailed = 0.1

// Tally counts how often runs of a cell ended. A run that failed and came to its end when repeated has failed all the
// same: who repeats runs for long enough would have each cell win.
type Tally struct{ Failed, Ended int }

func tallyOfAll(cells ...*model.Cell) (t Tally) {
	for _, c := range cells {
		t.Failed += len(c.Failed) + c.Repeated
		t.Ended += len(c.Runs) + len(c.Failed) + c.Repeated
	}
	return t
}

// exceeds says whether more than a share of the runs failed.
func (t Tally) exceeds(share float64) bool {
	return t.Failed > 0 && float64(t.Failed)/float64(t.Ended) > share
}

// MostFailed is the share of failed runs above which a cell cannot win.
func MostFailed(s *model.Study) float64 {
	if s.MostFailed == nil {
		return DefaultMostFailed
	}
	return *s.MostFailed
}

// TallyOf counts the runs of a cell; the baseline's and its A/A cell's are of the same.
func TallyOf(s *model.Study, c *model.Cell) Tally {
	if s.Again != nil && c == s.Cells[s.Baseline] {
		return tallyOfAll(c, s.Again)
	}
	return tallyOfAll(c)
}

// crashes says whether so many runs of a cell failed that it cannot win: those that are left are a choice
// that the failures made.
func crashes(s *model.Study, c *model.Cell) bool { return TallyOf(s, c).exceeds(MostFailed(s)) }

// Barred are the cells that cannot win by a metric, for failed runs or for held-out loss.
func Barred(s *model.Study, m model.Metric) map[*model.Cell]bool {
	barred := map[*model.Cell]bool{}
	for _, c := range s.Cells {
		barred[c] = len(s.Cells) > 1 && len(c.Runs) > 0 && crashes(s, c)
	}
	for _, o := range Contests(s, m) {
		for _, c := range o.Barred {
			barred[c] = true
		}
	}
	return barred
}

// withhold takes the proof from a change that speaks for a cell that crashes.
func withhold(change judge.Change, oldCrashes, newCrashes bool) judge.Change {
	if newCrashes && change.Verdict == judge.Better || oldCrashes && change.Verdict == judge.Worse {
		change.Verdict = judge.CannotTell
	}
	if newCrashes || oldCrashes {
		change.Needed = 0 // of runs that would tell none is known to come to its end
	}
	return change
}

// tally counts the runs that runs are of.
func (c *Comparison) tally(cell *model.Cell) Tally {
	if c.of != nil {
		return TallyOf(c.of, cell)
	}
	return tallyOfAll(cell)
}

// bar warns that a side of a comparison crashes.
func (c *Comparison) bar(cell, side string, t Tally, most float64) {
	if t.exceeds(most) {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s (%s): %d of %d runs failed, more than %s, so the others prove nothing in its favour", cell,
				side, t.Failed, t.Ended, screen.Percent(most)))
	}
}

// lost are the cells of which every run that ended failed.
func lost(s *model.Study) []*model.Cell {
	var out []*model.Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) == 0 && len(c.Failed) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// lose names cells of the new side that are in no row, since none of their runs came to its end.
func (c *Comparison) lose(cells []*model.Cell) {
	for _, cell := range cells {
		c.Lost = append(c.Lost, cell.Name)
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s is left out: all of %s failed", cell.Name, screen.Count(len(cell.Failed), "run")))
	}
}
