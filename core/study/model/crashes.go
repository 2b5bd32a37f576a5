package study

import (
	"fmt"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/screen"
)

// DefaultMostFailed is the share of failed runs above which a cell cannot win.
const DefaultMostFailed = 0.1

// tally counts how often runs of a cell ended. A run that failed and came to its end when repeated has failed all the same: who
// repeats runs for long enough would have each cell win.
type tally struct{ failed, ended int }

func tallyOf(cells ...*Cell) (t tally) {
	for _, c := range cells {
		t.failed += len(c.Failed) + c.Repeated
		t.ended += len(c.Runs) + len(c.Failed) + c.Repeated
	}
	return t
}

// exceeds says whether more than a share of the runs failed.
func (t tally) exceeds(share float64) bool {
	return t.failed > 0 && float64(t.failed)/float64(t.ended) > share
}

// mostFailed is the share of failed runs above which a cell cannot win.
func (s *Study) mostFailed() float64 {
	if s.MostFailed == nil {
		return DefaultMostFailed
	}
	return *s.MostFailed
}

// tally counts the runs of a cell; the baseline's and its A/A cell's are of the same.
func (s *Study) tally(c *Cell) tally {
	if s.Again != nil && c == s.Cells[s.Baseline] {
		return tallyOf(c, s.Again)
	}
	return tallyOf(c)
}

// crashes says whether so many runs of a cell failed that it cannot win: those that are left are a choice
// that the failures made.
func (s *Study) crashes(c *Cell) bool { return s.tally(c).exceeds(s.mostFailed()) }

// Barred are the cells that cannot win by a metric, for failed runs or for held-out loss.
func (s *Study) Barred(m Metric) map[*Cell]bool {
	barred := map[*Cell]bool{}
	for _, c := range s.Cells {
		barred[c] = len(s.Cells) > 1 && len(c.Runs) > 0 && s.crashes(c)
	}
	for _, o := range s.contests(m) {
		for _, c := range o.barred {
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

// counted is how many runs of a cell have a value, and how many failed.
func (o *contest) counted(c *Cell, runs int) string {
	text := screen.Count(runs, "run")
	if n := o.study.tally(c).failed; n > 0 {
		text += fmt.Sprintf(", %d more failed", n)
	}
	return text
}

// crashedText names the cells that cannot win for their failures; "" without any.
func (s *Study) crashedText(contests []*contest) string {
	var crashed []*Cell
	for _, o := range contests {
		crashed = append(crashed, o.crashed...)
	}
	var names []string
	for _, c := range crashed {
		t := s.tally(c)
		if len(crashed) == 1 {
			return fmt.Sprintf("%s is barred: %d of %d of its runs failed, more than %s", c.Name, t.failed, t.ended, screen.Percent(s.mostFailed()))
		}
		names = append(names, fmt.Sprintf("%s (%d of %d)", c.Name, t.failed, t.ended))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s are barred: more than %s of their runs failed", named(names), screen.Percent(s.mostFailed()))
}

// why says for what cells cannot win.
func (o *contest) why() string {
	switch {
	case len(o.crashed) == 0:
		return "for held-out loss"
	case len(o.barred) == 0:
		return "for failed runs"
	}
	return "for failed runs or held-out loss"
}

// tally counts the runs that runs are of.
func (c *Comparison) tally(cell *Cell) tally {
	if c.of != nil {
		return c.of.tally(cell)
	}
	return tallyOf(cell)
}

// bar warns that a side of a comparison crashes.
func (c *Comparison) bar(cell, side string, t tally, most float64) {
	if t.exceeds(most) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s (%s): %d of %d runs failed, more than %s, so the others prove nothing in its favour", cell, side, t.failed, t.ended, screen.Percent(most)))
	}
}

// lost are the cells of which every run that ended failed.
func (s *Study) lost() []*Cell {
	var out []*Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) == 0 && len(c.Failed) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// lose names cells of the new side that are in no row, since none of their runs came to its end.
func (c *Comparison) lose(cells []*Cell) {
	for _, cell := range cells {
		c.Lost = append(c.Lost, cell.Name)
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s is left out: all of %s failed", cell.Name, screen.Count(len(cell.Failed), "run")))
	}
}
