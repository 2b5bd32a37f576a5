package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/judge"
)

// slice is the cells that differ in one axis alone, one of each experiment.
type slice struct {
	values []string // of the other axes; that of the axis itself means nothing
	cells  []*Cell
	winner string // its value that is proven to be better than all others, "" without one
}

// slicesOf are those along an axis with two experiments or more, without cells that are barred,
// those that crash, and bounds.
func (s *Study) slicesOf(axis int, m Metric, barred map[*Cell]bool) []slice {
	var all []slice
	places := map[string]int{} // by the values of the other axes
	bounds := s.bounds()
	for _, c := range s.Cells {
		run := s.resolved(c)
		if len(run.Of(m.Name)) == 0 || barred[run] || bounds[run] || s.crashes(run) {
			continue
		}
		values := slices.Clone(c.Values)
		values[axis] = ""
		key := strings.Join(values, "\x00")
		at, ok := places[key]
		if !ok {
			at, all = len(all), append(all, slice{values: values})
			places[key] = at
		}
		if !slices.ContainsFunc(all[at].cells, func(other *Cell) bool { return s.resolved(other) == run }) {
			all[at].cells = append(all[at].cells, c)
		}
	}
	return slices.DeleteFunc(all, func(l slice) bool { return len(l.cells) < 2 })
}

// decide compares the best cell of each slice with its other ones, all together.
func (s *Study) decide(all []slice, axis int, y yardstick) {
	var pairs []judge.Pair
	var of []int // by pair: its place in all
	for i, l := range all {
		best := l.cells[0]
		for _, c := range l.cells {
			if y.metric.beats(s.medianOf(c, y.metric), s.medianOf(best, y.metric)) {
				best = c
			}
		}
		all[i].winner = best.Values[axis]
		for _, c := range l.cells {
			if c != best {
				pairs, of = append(pairs, judge.Pair{Old: s.valuesOf(c, y.metric), New: s.valuesOf(best, y.metric)}), append(of, i)
			}
		}
	}
	for i, change := range y.compare(pairs) {
		if change.Verdict != judge.Better {
			all[of[i]].winner = ""
		}
	}
}

// differing says by axis whether two cells that differ in it alone are proven to differ. In each slice the
// first cell is compared with the others: which one is best is chosen by the runs, and compared with
// that one, cells that are all the same would be told apart too often. All axes are judged together.
func (s *Study) differing(m Metric) []bool {
	var pairs []judge.Pair
	var of []int
	for axis := range s.Axes {
		if axis == s.within() {
			continue
		}
		for _, l := range s.slicesOf(axis, m, nil) {
			for _, c := range l.cells[1:] {
				pairs, of = append(pairs, judge.Pair{Old: s.valuesOf(l.cells[0], m), New: s.valuesOf(c, m)}), append(of, axis)
			}
		}
	}
	differ := make([]bool, len(s.Axes))
	for i, change := range s.yardstick(m).compare(pairs) {
		differ[of[i]] = differ[of[i]] || change.Proven()
	}
	return differ
}

// valuesOf are those of the experiment of a cell, the baseline's with its A/A cell's.
func (s *Study) valuesOf(c *Cell, m Metric) []float64 {
	if run := s.resolved(c); run != s.Cells[s.Baseline] {
		return run.Of(m.Name)
	}
	return s.baselineRuns(m.Name)
}

// medianOf is that of the experiment of a cell.
func (s *Study) medianOf(c *Cell, m Metric) float64 { return judge.Of(s.valuesOf(c, m)).Median }

// changes says of each axis whose best value is known somewhere where it is which, along the other axes.
func (s *Study) changes(m Metric, contests []*contest) []string {
	var texts []string
	barred := map[*Cell]bool{} // which cannot be best
	for _, o := range contests {
		for _, c := range o.barred {
			barred[c] = true
		}
	}
	y := s.yardstick(m)
	for axis, a := range s.Axes {
		if isWork(a.Name) || len(a.Values) < 2 {
			continue
		}
		all := s.slicesOf(axis, m, barred)
		if len(all) < 2 {
			continue
		}
		s.decide(all, axis, y)
		var winners []string
		wins := map[string][]slice{}
		unknown := 0
		for _, l := range all {
			if l.winner == "" {
				unknown++
				continue
			}
			if wins[l.winner] == nil {
				winners = append(winners, l.winner)
			}
			wins[l.winner] = append(wins[l.winner], l)
		}
		if len(winners) == 0 {
			continue
		}
		var text string
		if len(winners) == 1 {
			text = fmt.Sprintf("the best %s is %s in %d of %d combinations of the other axes", a.Name, winners[0], len(wins[winners[0]]), len(all))
		} else {
			var parts []string
			for _, w := range winners {
				parts = append(parts, fmt.Sprintf("%s %s", w, s.where(axis, w, wins)))
			}
			text = fmt.Sprintf("the best %s changes: %s", a.Name, strings.Join(parts, ", "))
		}
		if unknown > 0 {
			text += fmt.Sprintf("; in %d it cannot be told", unknown)
		}
		texts = append(texts, text)
	}
	return texts
}

// where says in which slices a value of an axis wins: by the values of another axis at which no other
// one does, or else by name.
func (s *Study) where(axis int, winner string, wins map[string][]slice) string {
	for other, a := range s.Axes {
		if other == axis || len(a.Values) < 2 {
			continue
		}
		own := valuesOn(other, wins[winner])
		overlap := false
		for w, list := range wins {
			overlap = overlap || w != winner && slices.ContainsFunc(valuesOn(other, list), func(v string) bool { return slices.Contains(own, v) })
		}
		if !overlap {
			return "where " + placed(a.Name, strings.Join(own, " or "))
		}
	}
	var names []string
	for _, l := range wins[winner] {
		var parts []string
		for i, a := range s.Axes {
			if i != axis && len(a.Values) > 1 {
				parts = append(parts, placed(a.Name, l.values[i]))
			}
		}
		names = append(names, strings.Join(parts, ", "))
	}
	return "at " + named(names)
}

// valuesOn are the values of slices on an axis, each once.
func valuesOn(axis int, list []slice) (values []string) {
	for _, l := range list {
		if !slices.Contains(values, l.values[axis]) {
			values = append(values, l.values[axis])
		}
	}
	return values
}
