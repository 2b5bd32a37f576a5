package study

import (
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/judge"
)

// contest is cells of the same work that are compared by a metric: which of them is best?
type contest struct {
	study *Study
	yardstick
	name  string  // of the work, "" if there is only one
	cells []*Cell // that have runs with a value, in the order of the plan
	// reference is the cell that losses are compared with.
	reference *Cell
	losses    yardstick // that are held-out
	medians   map[*Cell]float64
	best      *Cell // of those that may win; nil without any
	rivals    []rival
	// barred are those that are worse in held-out loss, and so cannot win.
	barred []*Cell
	// crashed are those of which so many runs failed that they cannot win.
	crashed []*Cell
	bounds  []*Cell // of this work, which do not compete
}

// rival is another cell that may win, and what became of its runs in those of the best one.
type rival struct {
	cell   *Cell
	change judge.Change
}

// isWork says whether an axis changes what is computed, so that cells along it do not compete.
func isWork(axis string) bool {
	for key := range strings.SplitSeq(axis, "+") {
		kind, setting, _ := strings.Cut(key, ".")
		if setting == "engine" || setting == "blas" { // which compute the same in another way
			continue
		}
		if slices.Contains([]string{"model", "data", "create_criterion", "preprocess_data", "operation", "bytes", "sparse", "mode"}, kind) {
			return true
		}
	}
	return false
}

// contests are those of each work, in the order of the plan.
func (s *Study) contests(m Metric) []*contest {
	var all []*contest
	y := s.yardstick(m)
	bounds := s.bounds()
	for _, c := range s.Cells {
		if len(c.Of(m.Name)) == 0 {
			continue
		}
		name := s.workOf(c)
		i := slices.IndexFunc(all, func(o *contest) bool { return o.name == name })
		if i < 0 {
			i, all = len(all), append(all, &contest{study: s, yardstick: y, name: name, medians: map[*Cell]float64{}})
		}
		if bounds[c] {
			all[i].bounds = append(all[i].bounds, c)
		} else {
			all[i].cells = append(all[i].cells, c)
		}
	}
	all = slices.DeleteFunc(all, func(o *contest) bool { return len(o.cells) == 0 })
	for _, o := range all {
		for _, c := range o.cells {
			o.medians[c] = judge.Of(o.runs(c)).Median
		}
		o.refer()
		o.hold()
	}
	return all
}

// workOf names the work of a cell, "" if all cells have the same.
func (s *Study) workOf(c *Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && isWork(a.Name) {
			parts = append(parts, placed(a.Name, c.Values[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// refer chooses the reference: the baseline, or the cell of this work that is like it otherwise.
func (o *contest) refer() {
	baseline := o.study.Cells[o.study.Baseline]
	o.reference = o.cells[0]
	for _, c := range o.cells {
		same := true
		for i, a := range o.study.Axes {
			same = same && (isWork(a.Name) || c.Values[i] == baseline.Values[i])
		}
		if same {
			o.reference = c
			break
		}
	}
	o.losses.metric, _ = MetricOf(HeldOutLoss)
	o.losses.floor, o.losses.none = judge.FloorOf(o.runsBy(HeldOutLoss, o.reference), o.study.Seed)
	o.losses.center = judge.Of(o.runsBy(HeldOutLoss, o.reference)).Median
}

// hold finds the best cell and compares it with every other one that may win.
func (o *contest) hold() {
	var eligible []*Cell
	for _, c := range o.cells {
		switch {
		case len(o.cells) > 1 && o.study.crashes(c):
			o.crashed = append(o.crashed, c)
		case o.lossOf(c).barred:
			o.barred = append(o.barred, c)
		default:
			eligible = append(eligible, c)
		}
	}
	for _, c := range eligible {
		if o.best == nil || o.metric.beats(o.median(c), o.median(o.best)) {
			o.best = c
		}
	}
	var pairs []judge.Pair
	for _, c := range eligible {
		if c != o.best {
			o.rivals = append(o.rivals, rival{cell: c})
			pairs = append(pairs, judge.Pair{Old: o.runs(c), New: o.runs(o.best)})
		}
	}
	for i, change := range o.compare(pairs) {
		o.rivals[i].change = change
	}
	slices.SortStableFunc(o.rivals, func(a, b rival) int {
		x, y := o.median(a.cell), o.median(b.cell)
		switch {
		case o.metric.beats(x, y):
			return -1
		case o.metric.beats(y, x):
			return 1
		}
		return 0
	})
}

// runs are the values of a cell.
func (o *contest) runs(c *Cell) []float64 { return o.runsBy(o.metric.Name, c) }

// runsBy are the values of a cell by a metric; the baseline's and its A/A cell's are of the same.
func (o *contest) runsBy(metric string, c *Cell) []float64 {
	if c == o.study.Cells[o.study.Baseline] {
		return o.study.baselineRuns(metric)
	}
	return c.Of(metric)
}

func (o *contest) median(c *Cell) float64 { return o.medians[c] }

// open are the rivals that are not proven to be worse than the best one.
func (o *contest) open() (open []rival) {
	for _, r := range o.rivals {
		if r.change.Verdict != judge.Better {
			open = append(open, r)
		}
	}
	return open
}

// loss is a cell's held-out loss beside that of the reference.
type loss struct {
	known             bool
	median, reference float64
	worse             float64 // relative
	barred            bool    // it is worse by more than the floor, or no number
}

func (o *contest) lossOf(c *Cell) loss {
	values, reference := o.runsBy(HeldOutLoss, c), o.runsBy(HeldOutLoss, o.reference)
	if len(values) == 0 || len(reference) == 0 {
		return loss{}
	}
	l := loss{known: true, median: judge.Of(values).Median, reference: judge.Of(reference).Median}
	l.worse = o.losses.metric.worse(l.reference, l.median)
	switch {
	case math.IsNaN(l.median):
		l.barred = slices.ContainsFunc(o.cells, func(c *Cell) bool { return !math.IsNaN(judge.Of(o.runsBy(HeldOutLoss, c)).Median) })
	case o.losses.none == nil:
		l.barred = c != o.reference && l.worse > max(o.losses.floor.Change, rounding)
	}
	return l
}

// rounding is by how much of itself a loss may change where sums are added up in another order.
const rounding = 1e-6
