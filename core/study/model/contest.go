package study

import (
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
)

// contest is cells of the same work that are compared by a metric: which of them is best?
type contest struct {
	study *Study
	yardstick
	name  string  // of the work, "" if there is only one
	cells []*Cell // that have runs with a value, in the order of the plan
	// reference is the cell that losses are compared with.
	reference *Cell
	losses    map[*Cell]loss // by cell; without an entry it is not known
	medians   map[*Cell]float64
	levels    map[*Cell]float64 // as Study.level
	best      *Cell             // of those that may win; nil without any
	rivals    []rival
	// barred are those that are worse in held-out loss, and so cannot win.
	barred []*Cell
	// crashed are those of which so many runs failed that they cannot win.
	crashed []*Cell
	bounds  []*Cell // of this work, which do not compete
	// comparisons is how many were judged together: those of the table and of all works.
	comparisons int
}

// rival is another cell that may win, and what became of its runs in those of the best one.
type rival struct {
	cell   *Cell
	change judge.Change
	pair   judge.Pair
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
	all := s.enter(m)
	family := s.family(m, all)
	for _, o := range all {
		o.comparisons = len(family.pairs)
		for i := range o.rivals {
			r := &o.rivals[i]
			r.change, r.pair, _ = family.of(r.cell, o.best)
		}
	}
	return all
}

// enter says of each work which cells may win, and which of them is the best. Nothing is proven yet.
func (s *Study) enter(m Metric) []*contest {
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
			i, all = len(all), append(all, &contest{study: s, yardstick: y, name: name, medians: map[*Cell]float64{}, levels: map[*Cell]float64{}, losses: map[*Cell]loss{}})
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
			o.medians[c], o.levels[c] = judge.Of(o.runs(c)).Median, s.level(c, m)
		}
		o.refer()
	}
	judgeLosses(all)
	for _, o := range all {
		o.enter()
	}
	return all
}

// workOf names the work of a cell, "" if all cells have the same.
func (s *Study) workOf(c *Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && isWork(a.Name) {
			parts = append(parts, a.Name+" "+c.Values[i])
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
}

// enter says which cells may win, which of them is the best, and the others in the order of their levels.
func (o *contest) enter() {
	var eligible []*Cell
	for _, c := range o.cells {
		switch {
		case len(o.cells) > 1 && o.study.crashes(c):
			o.crashed = append(o.crashed, c)
		case o.losses[c].barred:
			o.barred = append(o.barred, c)
		default:
			eligible = append(eligible, c)
		}
	}
	slices.SortStableFunc(eligible, func(a, b *Cell) int {
		x, y := o.levels[a], o.levels[b]
		switch {
		case o.metric.beats(x, y):
			return -1
		case o.metric.beats(y, x):
			return 1
		}
		return 0
	})
	if len(eligible) == 0 {
		return
	}
	o.best = eligible[0]
	for _, c := range eligible[1:] {
		o.rivals = append(o.rivals, rival{cell: c})
	}
}

// runs are the values of a cell; the baseline's and its A/A cell's are of the same.
func (o *contest) runs(c *Cell) []float64 { return o.study.runsOf(c, o.metric.Name).Values }

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
