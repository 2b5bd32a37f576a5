package verdict

import (
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Slice is a group of cells that differ only in one axis. Cells with the same experiment appear once.
type Slice struct {
	Values []string // values on the other axes; "" on the slice's own axis
	cells  []*model.Cell
	Winner string // value on the slice's axis that is proven better than all others, or ""
}

// slicesOf returns the slices along an axis that contain at least two experiments. It leaves out bounds, barred cells
// and cells with too many failed runs.
func slicesOf(s *model.Study, axis int, m model.Metric, barred map[*model.Cell]bool) []Slice {
	var all []Slice
	places := map[string]int{} // index in all, by the values of the other axes
	bounds := bounds(s)
	for _, c := range s.Cells {
		run := s.Resolved(c)
		if len(run.Of(m.Name)) == 0 || barred[run] || bounds[run] || crashes(s, run) {
			continue
		}
		values := slices.Clone(c.Values)
		values[axis] = ""
		key := strings.Join(values, "\x00")
		at, ok := places[key]
		if !ok {
			at, all = len(all), append(all, Slice{Values: values})
			places[key] = at
		}
		if !slices.ContainsFunc(all[at].cells, func(other *model.Cell) bool { return s.Resolved(other) == run }) {
			all[at].cells = append(all[at].cells, c)
		}
	}
	return slices.DeleteFunc(all, func(l Slice) bool { return len(l.cells) < 2 })
}

// Duels holds comparisons of cells that differ only in one axis. In each slice, the first cell and the best cell are
// compared with all others. All comparisons are judged together. The same comparisons show whether an axis matters and
// which of its values is best.
type Duels struct {
	study  *model.Study
	metric model.Metric
	barred map[*model.Cell]bool // cells that cannot be best
	// Changes holds the change from the first cell to the second. The keys are the cells that hold the runs.
	Changes map[[2]*model.Cell]judge.Change
}

// DuelsOf judges each pair of experiments once, even if several slices contain the pair. Barred cells take part. The
// best cell that is not barred is also compared with all others.
func DuelsOf(s *model.Study, m model.Metric, barred map[*model.Cell]bool) *Duels {
	d := &Duels{s, m, barred, map[[2]*model.Cell]judge.Change{}}
	var pairs []judge.Pair
	var of [][2]*model.Cell
	seen := map[[2]*model.Cell]bool{}
	for axis := range s.Axes {
		if axis == s.WithinAt() {
			continue
		}
		for _, l := range slicesOf(s, axis, m, nil) {
			eligible := l
			eligible.cells = slices.DeleteFunc(slices.Clone(l.cells),
				func(c *model.Cell) bool { return barred[s.Resolved(c)] })
			first := []*model.Cell{l.cells[0], d.best(l)}
			if len(eligible.cells) > 0 {
				first = append(first, d.best(eligible))
			}
			for _, a := range first {
				for _, b := range l.cells {
					at := [2]*model.Cell{s.Resolved(a), s.Resolved(b)}
					if back := [2]*model.Cell{at[1], at[0]}; a != b && !seen[at] && !seen[back] {
						seen[at] = true
						pairs, of = append(pairs, judge.Pair{Old: runsOf(s, a, m.Name), New: runsOf(s, b, m.Name)}),
							append(of, at)
					}
				}
			}
		}
	}
	for i, change := range yardstickOf(s, m).compare(pairs) {
		d.Changes[of[i]] = change
	}
	return d
}

// best returns the cell of a slice with the best level.
func (d *Duels) best(l Slice) *model.Cell {
	best := l.cells[0]
	for _, c := range l.cells {
		if d.metric.Beats(level(d.study, c, d.metric), level(d.study, best, d.metric)) {
			best = c
		}
	}
	return best
}

// beats reports whether cell a is proven better than cell b.
func (d *Duels) beats(a, b *model.Cell) bool {
	a, b = d.study.Resolved(a), d.study.Resolved(b)
	return d.Changes[[2]*model.Cell{a, b}].Verdict == judge.Worse ||
		d.Changes[[2]*model.Cell{b, a}].Verdict == judge.Better
}

// winner returns the cell of a slice that is proven better than all others, or nil.
func (d *Duels) winner(l Slice) *model.Cell {
	best := d.best(l)
	for _, c := range l.cells {
		if c != best && !d.beats(best, c) {
			return nil
		}
	}
	return best
}

// ordered returns the pairs of axis values whose first value is proven better in the slice. Each pair contains the
// value of the slice's first cell or of its winner. A best cell that is not proven better than all others does not
// count as a winner. The runs select it, so among equal cells it would differ from another cell too often.
func (d *Duels) ordered(axis int, l Slice) map[[2]string]bool {
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

// orders returns the proven pairs of all slices of an axis. Slices with the barred cells come first, then slices
// without them.
func (d *Duels) orders(axis int) (all []map[[2]string]bool) {
	if axis == d.study.WithinAt() {
		return nil
	}
	for _, barred := range []map[*model.Cell]bool{nil, d.barred} {
		for _, l := range slicesOf(d.study, axis, d.metric, barred) {
			all = append(all, d.ordered(axis, l))
		}
	}
	return all
}

// Differing reports, for each axis, whether a difference is proven between two cells that differ only in that axis.
func (d *Duels) Differing() []bool {
	differ := make([]bool, len(d.study.Axes))
	for axis := range differ {
		differ[axis] = slices.ContainsFunc(d.orders(axis),
			func(pairs map[[2]string]bool) bool { return len(pairs) > 0 })
	}
	return differ
}

// Crossing reports whether some axis is proven to have opposite effects in two slices.
func (d *Duels) Crossing() bool {
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

// Won returns the slices of an axis, without the barred cells. Each slice names its winning value, if it has one.
func (d *Duels) Won(axis int) []Slice {
	all := slicesOf(d.study, axis, d.metric, d.barred)
	for i, l := range all {
		if best := d.winner(l); best != nil {
			all[i].Winner = best.Values[axis]
		}
	}
	return all
}
