package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
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

// duels are comparisons of cells that differ in one axis alone, all judged together: whether an axis matters, and
// which of its values is best, is read from the same ones. In each slice the first cell and the best one meet all others.
type duels struct {
	study   *Study
	metric  Metric
	barred  map[*Cell]bool            // which cannot be best
	changes map[[2]*Cell]judge.Change // by the cells that ran: from the first to the second
}

// duels judges each pair of experiments once, in however many slices it is. Cells that are barred take part, but the best of
// those that are not meets all others as well.
func (s *Study) duels(m Metric, barred map[*Cell]bool) *duels {
	d := &duels{s, m, barred, map[[2]*Cell]judge.Change{}}
	var pairs []judge.Pair
	var of [][2]*Cell
	seen := map[[2]*Cell]bool{}
	for axis := range s.Axes {
		if axis == s.within() {
			continue
		}
		for _, l := range s.slicesOf(axis, m, nil) {
			eligible := l
			eligible.cells = slices.DeleteFunc(slices.Clone(l.cells), func(c *Cell) bool { return barred[s.resolved(c)] })
			first := []*Cell{l.cells[0], d.best(l)}
			if len(eligible.cells) > 0 {
				first = append(first, d.best(eligible))
			}
			for _, a := range first {
				for _, b := range l.cells {
					at := [2]*Cell{s.resolved(a), s.resolved(b)}
					if back := [2]*Cell{at[1], at[0]}; a != b && !seen[at] && !seen[back] {
						seen[at] = true
						pairs, of = append(pairs, judge.Pair{Old: s.runsOf(a, m.Name), New: s.runsOf(b, m.Name)}), append(of, at)
					}
				}
			}
		}
	}
	for i, change := range s.yardstick(m).compare(pairs) {
		d.changes[of[i]] = change
	}
	return d
}

// best is the cell of a slice with the best level.
func (d *duels) best(l slice) *Cell {
	best := l.cells[0]
	for _, c := range l.cells {
		if d.metric.beats(d.study.level(c, d.metric), d.study.level(best, d.metric)) {
			best = c
		}
	}
	return best
}

// beats says whether a cell is proven to be better than another one.
func (d *duels) beats(a, b *Cell) bool {
	a, b = d.study.resolved(a), d.study.resolved(b)
	return d.changes[[2]*Cell{a, b}].Verdict == judge.Worse || d.changes[[2]*Cell{b, a}].Verdict == judge.Better
}

// winner is the cell of a slice that is proven to be better than all others, or nil.
func (d *duels) winner(l slice) *Cell {
	best := d.best(l)
	for _, c := range l.cells {
		if c != best && !d.beats(best, c) {
			return nil
		}
	}
	return best
}

// ordered are the pairs of values of an axis of which a slice proves that the first is better: the first of the slice and
// another one, or its winner and all others. The best is chosen by the runs, and differs from a single one of cells
// that are all the same too often.
func (d *duels) ordered(axis int, l slice) map[[2]string]bool {
	pairs := map[[2]string]bool{}
	first, winner := l.cells[0], d.winner(l)
	for _, c := range l.cells {
		if d.beats(first, c) {
			pairs[[2]string{first.Values[axis], c.Values[axis]}] = true
		}
		if d.beats(c, first) {
			pairs[[2]string{c.Values[axis], first.Values[axis]}] = true
		}
		if winner != nil && c != winner {
			pairs[[2]string{winner.Values[axis], c.Values[axis]}] = true
		}
	}
	return pairs
}

// orders are those of all slices of an axis, with the barred cells and without them.
func (d *duels) orders(axis int) (all []map[[2]string]bool) {
	if axis == d.study.within() {
		return nil
	}
	for _, barred := range []map[*Cell]bool{nil, d.barred} {
		for _, l := range d.study.slicesOf(axis, d.metric, barred) {
			all = append(all, d.ordered(axis, l))
		}
	}
	return all
}

// differing says by axis whether two cells that differ in it alone are proven to differ.
func (d *duels) differing() []bool {
	differ := make([]bool, len(d.study.Axes))
	for axis := range differ {
		differ[axis] = slices.ContainsFunc(d.orders(axis), func(pairs map[[2]string]bool) bool { return len(pairs) > 0 })
	}
	return differ
}

// crossing says whether an axis is proven to do one thing in one slice and the opposite in another.
func (d *duels) crossing() bool {
	for axis := range d.study.Axes {
		proven := map[[2]string]bool{}
		for _, pairs := range d.orders(axis) {
			maps.Copy(proven, pairs)
		}
		for p := range proven {
			if proven[[2]string{p[1], p[0]}] {
				return true
			}
		}
	}
	return false
}

// won are the slices of an axis without the barred cells, each with the value that wins it.
func (d *duels) won(axis int) []slice {
	all := d.study.slicesOf(axis, d.metric, d.barred)
	for i, l := range all {
		if best := d.winner(l); best != nil {
			all[i].winner = best.Values[axis]
		}
	}
	return all
}

// changes says of each axis whose best value is known somewhere where it is which, along the other axes.
func (s *Study) changes(d *duels) []string {
	var texts []string
	for axis, a := range s.Axes {
		if isWork(a.Name) || len(a.Values) < 2 {
			continue
		}
		all := d.won(axis)
		if len(all) < 2 {
			continue
		}
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
			text = fmt.Sprintf("the best %s changes: %s", a.Name, strings.Join(parts, "; "))
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
		names = append(names, strings.Join(parts, " with "))
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
