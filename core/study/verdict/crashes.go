package verdict

import (
	"fmt"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/screen"
)

// DefaultMostFailed is the default limit on the share of failed runs, from 0 to 1. A cell above this limit cannot win.
const DefaultMostFailed = 0.1

// Tally counts the failed and the ended runs of a cell. A failed run counts even if a repetition succeeded. Otherwise a
// user could repeat runs until the cell wins.
type Tally struct{ Failed, Ended int }

func tallyOfAll(cells ...*model.Cell) (t Tally) {
	for _, c := range cells {
		t.Failed += len(c.Failed) + c.Repeated
		t.Ended += len(c.Runs) + len(c.Failed) + c.Repeated
	}
	return t
}

// exceeds reports whether more than this share of the runs failed.
func (t Tally) exceeds(share float64) bool {
	return t.Failed > 0 && float64(t.Failed)/float64(t.Ended) > share
}

// MostFailed returns the study's limit on the share of failed runs. A cell above this limit cannot win.
func MostFailed(s *model.Study) float64 {
	if s.MostFailed == nil {
		return DefaultMostFailed
	}
	return *s.MostFailed
}

// TallyOf counts the runs of a cell. The count of the baseline includes its A/A cell.
func TallyOf(s *model.Study, c *model.Cell) Tally {
	if s.Again != nil && c == s.Cells[s.Baseline] {
		return tallyOfAll(c, s.Again)
	}
	return tallyOfAll(c)
}

// crashes reports whether too many runs of a cell failed for the cell to win. The remaining runs would be a selection.
func crashes(s *model.Study, c *model.Cell) bool { return TallyOf(s, c).exceeds(MostFailed(s)) }

// Barred returns the cells that cannot win by a metric because of failed runs or their held-out loss.
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

// withhold removes the proof of a change that favours a crashing cell.
func withhold(change judge.Change, oldCrashes, newCrashes bool) judge.Change {
	if newCrashes && change.Verdict == judge.Better || oldCrashes && change.Verdict == judge.Worse {
		change.Verdict = judge.CannotTell
	}
	if newCrashes || oldCrashes {
		change.Needed = 0 // further runs may fail too, so no number of runs is enough
	}
	return change
}

// tally counts the same runs of a cell as the method runs returns.
func (c *Comparison) tally(cell *model.Cell) Tally {
	if c.of != nil {
		return TallyOf(c.of, cell)
	}
	return tallyOfAll(cell)
}

// bar adds a warning if too many runs of one side failed.
func (c *Comparison) bar(cell, side string, t Tally, most float64) {
	if t.exceeds(most) {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s (%s): %d of %d runs failed, more than %s, so the others prove nothing in its favour", cell,
				side, t.Failed, t.Ended, screen.Percent(most)))
	}
}

// lost returns the cells that have failed runs and no successful ones.
func lost(s *model.Study) []*model.Cell {
	var out []*model.Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) == 0 && len(c.Failed) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// lose records the cells of the new side that have no row because all of their runs failed.
func (c *Comparison) lose(cells []*model.Cell) {
	for _, cell := range cells {
		c.Lost = append(c.Lost, cell.Name)
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%s is left out: all of %s failed", cell.Name, screen.Count(len(cell.Failed), "run")))
	}
}
