package verdict

import (
	"slices"

	"strings"

	"github.com/psbench/psbench/core/study/model"

	"github.com/psbench/psbench/core/study/judge"
)

// Contest is cells of the same work that are compared by a metric: which of them is best?
type Contest struct {
	Study *model.Study
	Yardstick
	Name  string        // of the work, "" if there is only one
	Cells []*model.Cell // that have runs with a value, in the order of the plan
	// Reference is the cell that losses are compared with.
	Reference *model.Cell
	Losses    map[*model.Cell]Loss // by cell; without an entry it is not known
	medians   map[*model.Cell]float64
	levels    map[*model.Cell]float64 // as level has them
	Best      *model.Cell             // of those that may win; nil without any
	Rivals    []Rival
	// Barred are those that are worse in held-out loss, and so cannot win.
	Barred []*model.Cell
	// Crashed are those of which so many runs failed that they cannot win.
	Crashed []*model.Cell
	Bounds  []*model.Cell // of this work, which do not compete
	// Comparisons is how many were judged together: those of the table and of all works.
	Comparisons int
}

// Rival is another cell that may win, and what became of its runs in those of the best one.
type Rival struct {
	Cell   *model.Cell
	Change judge.Change
	Pair   judge.Pair
}

// IsWork says whether an axis changes what is computed, so that cells along it do not compete.
func IsWork(axis string) bool {
	for key := range strings.SplitSeq(axis, "+") {
		kind, setting, _ := strings.Cut(key, ".")
		if setting == "engine" || setting == "blas" { // which compute the same in another way
			continue
		}
		if slices.Contains([]string{"model", "data", "create_criterion", "preprocess_data", "operation", "bytes",
			"sparse", "mode"}, kind) {
			return true
		}
	}
	return false
}

// Contests are those of each work, in the order of the plan.
func Contests(s *model.Study, m model.Metric) []*Contest {
	all := enter(s, m)
	family := familyOf(s, m, all)
	for _, o := range all {
		o.Comparisons = len(family.pairs)
		for i := range o.Rivals {
			r := &o.Rivals[i]
			r.Change, r.Pair, _ = family.of(r.Cell, o.Best)
		}
	}
	return all
}

// enter says of each work which cells may win, and which of them is the best. Nothing is proven yet.
func enter(s *model.Study, m model.Metric) []*Contest {
	var all []*Contest
	y := yardstickOf(s, m)
	bounds := bounds(s)
	for _, c := range s.Cells {
		if len(c.Of(m.Name)) == 0 {
			continue
		}
		name := workOf(s, c)
		i := slices.IndexFunc(all, func(o *Contest) bool { return o.Name == name })
		if i < 0 {
			i, all = len(all), append(all, &Contest{Study: s, Yardstick: y, Name: name,
				medians: map[*model.Cell]float64{}, levels: map[*model.Cell]float64{}, Losses: map[*model.Cell]Loss{}})
		}
		if bounds[c] {
			all[i].Bounds = append(all[i].Bounds, c)
		} else {
			all[i].Cells = append(all[i].Cells, c)
		}
	}
	all = slices.DeleteFunc(all, func(o *Contest) bool { return len(o.Cells) == 0 })
	for _, o := range all {
		for _, c := range o.Cells {
			o.medians[c], o.levels[c] = judge.Of(o.Runs(c)).Median, level(s, c, m)
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
func workOf(s *model.Study, c *model.Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && IsWork(a.Name) {
			parts = append(parts, a.Name+" "+c.Values[i])
		}
	}
	return strings.Join(parts, ", ")
}

// refer chooses the reference: the baseline, or the cell of this work that is like it otherwise.
func (o *Contest) refer() {
	baseline := o.Study.Cells[o.Study.Baseline]
	o.Reference = o.Cells[0]
	for _, c := range o.Cells {
		same := true
		for i, a := range o.Study.Axes {
			same = same && (IsWork(a.Name) || c.Values[i] == baseline.Values[i])
		}
		if same {
			o.Reference = c
			break
		}
	}
}

// enter says which cells may win, which of them is the best, and the others in the order of their levels.
func (o *Contest) enter() {
	var eligible []*model.Cell
	for _, c := range o.Cells {
		switch {
		case len(o.Cells) > 1 && crashes(o.Study, c):
			o.Crashed = append(o.Crashed, c)
		case o.Losses[c].barred:
			o.Barred = append(o.Barred, c)
		default:
			eligible = append(eligible, c)
		}
	}
	slices.SortStableFunc(eligible, func(a, b *model.Cell) int {
		x, y := o.levels[a], o.levels[b]
		switch {
		case o.Metric.Beats(x, y):
			return -1
		case o.Metric.Beats(y, x):
			return 1
		}
		return 0
	})
	if len(eligible) == 0 {
		return
	}
	o.Best = eligible[0]
	for _, c := range eligible[1:] {
		o.Rivals = append(o.Rivals, Rival{Cell: c})
	}
}

// Runs are the values of a cell; the baseline's and its A/A cell's are of the same.
func (o *Contest) Runs(c *model.Cell) []float64 { return runsOf(o.Study, c, o.Metric.Name).Values }

// Median is that of the runs of a cell.
func (o *Contest) Median(c *model.Cell) float64 { return o.medians[c] }

// Open are the rivals that are not proven to be worse than the best one.
func (o *Contest) Open() (open []Rival) {
	for _, r := range o.Rivals {
		if r.Change.Verdict != judge.Better {
			open = append(open, r)
		}
	}
	return open
}

// bounds are the cells that run whose trainers exchange nothing. They show what an iteration takes
// without communication and compete with none that communicates: their trainers learn from less. Where
// all are so there is no other way to train, and none of them is a bound.
func bounds(s *model.Study) map[*model.Cell]bool {
	bounds, others := map[*model.Cell]bool{}, false
	for _, c := range s.Cells {
		switch {
		case len(c.Runs) == 0:
		case slices.ContainsFunc(c.Runs, func(r *model.Run) bool { return !r.Silent }):
			others = true
		default:
			bounds[c] = true
		}
	}
	if !others {
		return nil
	}
	return bounds
}
