package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/screen"
)

// isComm says whether runs are rows of psbench comm.
func (s *Study) isComm() bool {
	return slices.ContainsFunc(s.allRuns(), func(r *Run) bool { _, ok := r.Values[CommTime]; return ok })
}

// compareWithinSizes has rows of psbench comm compared with those of their own size alone: another size is
// other work. The baseline is the first cell that most sizes have one like.
func (s *Study) compareWithinSizes() {
	at := slices.IndexFunc(s.Axes, func(a Axis) bool { return slices.Contains(strings.Split(a.Name, "+"), "bytes") })
	if at < 0 {
		return
	}
	s.Within = s.Axes[at].Name
	most := 0
	for i, c := range s.Cells {
		if n := len(s.counterparts(c)); n > most {
			most, s.Baseline = n, i
		}
	}
}

// within is the place of the axis along which nothing is compared, -1 without one.
func (s *Study) within() int {
	if s.Within == "" {
		return -1
	}
	return slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == s.Within })
}

// counterpart is what a cell is compared with where c is the baseline: c itself, or that which is like it at
// the size of the cell; nil where nothing was measured so.
func (s *Study) counterpart(cell, c *Cell) *Cell {
	at := s.within()
	if at < 0 {
		return c
	}
	for _, other := range s.counterparts(c) {
		if other.Values[at] == cell.Values[at] {
			return other
		}
	}
	return nil
}

// counterparts are the cells that differ from c in the size alone, c among them.
func (s *Study) counterparts(c *Cell) []*Cell {
	at := s.within()
	if at < 0 {
		return []*Cell{c}
	}
	return slices.DeleteFunc(slices.Clone(s.Cells), func(other *Cell) bool { return !s.Alike(other, c) })
}

// Alike says whether cells are the same, or differ along Within alone.
func (s *Study) Alike(a, b *Cell) bool {
	at := s.within()
	return a == b || at >= 0 && a.equalBut(b, at)
}

// equalBut says whether two cells have the same place on every axis but one.
func (c *Cell) equalBut(other *Cell, at int) bool {
	for i, value := range c.Values {
		if i != at && value != other.Values[i] {
			return false
		}
	}
	return true
}

// bySize says in a sentence for each operation which way of it is best at which sizes, and how sure that is.
func (s *Study) bySize(contests []*contest) []Sentence {
	at := s.within()
	var order []string
	works := map[string][]*contest{}
	for _, o := range contests {
		name := s.workBut(o.cells[0], at)
		if works[name] == nil {
			order = append(order, name)
		}
		works[name] = append(works[name], o)
	}
	var out []Sentence
	for _, name := range order {
		text := s.acrossSizes(works[name])
		if name != "" {
			text = name + ": " + text
		}
		out = append(out, Sentence{labelOf(contests[0].metric), text})
	}
	return out
}

// workBut names the work of a cell but for its size.
func (s *Study) workBut(c *Cell, at int) string {
	var parts []string
	for i, a := range s.Axes {
		if i != at && len(a.Values) > 1 && isWork(a.Name) {
			parts = append(parts, c.Values[i])
		}
	}
	return strings.Join(parts, ", ")
}

// acrossSizes says what contests of one operation, one of each size, come to together.
func (s *Study) acrossSizes(of []*contest) string {
	of = slices.DeleteFunc(slices.Clone(of), func(o *contest) bool { return o.best == nil })
	if len(of) == 0 {
		return "nothing can win: so many runs of every cell failed"
	}
	slices.SortStableFunc(of, func(a, b *contest) int { return cmp.Compare(s.sizeOf(a), s.sizeOf(b)) })
	contested := slices.DeleteFunc(slices.Clone(of), func(o *contest) bool { return len(o.rivals) == 0 })
	if len(contested) == 0 {
		first, last := of[0], of[len(of)-1]
		text := "it was measured in one way alone: " + first.value(first.best) + s.atSize(first)
		if last != first {
			text += ", " + last.value(last.best) + s.atSize(last)
		}
		return text
	}
	var leads []string
	for i := 0; i < len(contested); {
		first := contested[i]
		name := s.wayOf(first.best)
		for i < len(contested) && s.wayOf(contested[i].best) == name {
			i++
		}
		leads = append(leads, fmt.Sprintf("%s %s", name, s.span(first, contested[i-1])))
	}
	return fmt.Sprintf("%s, with %s; %s", listed(leads), margins(contested), proofs(contested))
}

// wayOf is what a cell is beside others of its work.
func (s *Study) wayOf(c *Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && !isWork(a.Name) {
			parts = append(parts, placed(a.Name, c.Values[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// span is from one size to another.
func (s *Study) span(from, to *contest) string {
	if from == to {
		return "leads" + s.atSize(from)
	}
	return fmt.Sprintf("leads from %s to %s", bytesize.Format(s.sizeOf(from)), bytesize.Format(s.sizeOf(to)))
}

// margins are how far the best of each contest is from the second.
func margins(of []*contest) string {
	var changes []judge.Change
	for _, o := range of {
		changes = append(changes, o.rivals[0].change)
	}
	slices.SortFunc(changes, func(a, b judge.Change) int { return cmp.Compare(math.Abs(a.Change), math.Abs(b.Change)) })
	m, least, most := of[0].metric, changes[0], changes[len(changes)-1]
	switch {
	case len(changes) == 1:
		return m.more(most) + " than the second"
	case least.Difference == nil && most.Difference == nil:
		return fmt.Sprintf("%s to %s than the second", screen.Percent(math.Abs(least.Change)), m.more(most))
	}
	return fmt.Sprintf("%s to %s than the second", m.more(least), m.more(most))
}

// proofs say at how many sizes the best is proven to be so, and what is missing elsewhere.
func proofs(of []*contest) string {
	var open []*contest
	for _, o := range of {
		if len(o.open()) > 0 {
			open = append(open, o)
		}
	}
	switch {
	case len(open) == 0:
		return "proven at each size"
	case len(open) == len(of):
		return "proven at no size: " + open[0].toTell(open[0].open()[0])
	}
	return fmt.Sprintf("proven at %d of %s, but not%s", len(of)-len(open), screen.Count(len(of), "size"), open[0].study.atSize(open[0]))
}

// sizeOf is the size of a contest in bytes, 0 of what has none.
func (s *Study) sizeOf(o *contest) int {
	size, _ := strconv.Atoi(o.cells[0].Config["bytes"])
	return size
}

// atSize is where a contest was held, "" of what has no size.
func (s *Study) atSize(o *contest) string {
	if size := s.sizeOf(o); size > 0 {
		return " at " + bytesize.Format(size)
	}
	return ""
}

// sizedFloor is the noise floor of comparisons within sizes: the highest of those of the baseline at each size,
// and how many runs the fewest of these have.
func (s *Study) sizedFloor(m Metric) yardstick {
	y := yardstick{metric: m, center: math.NaN()}
	for i, c := range s.counterparts(s.Cells[s.Baseline]) {
		runs := c.Of(m.Name)
		floor, err := judge.FloorOf(runs, s.Seed)
		if err != nil {
			return yardstick{metric: m, center: math.NaN(), of: len(runs), none: err}
		}
		if i == 0 || floor.Change > y.floor.Change {
			y.floor = floor
		}
		if i == 0 || len(runs) < y.of {
			y.of = len(runs)
		}
	}
	return y
}
