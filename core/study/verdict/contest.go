package verdict

import (
	"slices"

	"strings"

	"github.com/psbench/psbench/core/study/model"

	"github.com/psbench/psbench/core/study/judge"
)

// Contest compares all cells that do the same work, by one metric, to find the best cell.
type Contest struct {
	Study *model.Study
	Yardstick
	Name  string        // name of the work, or "" if all cells do the same work
	Cells []*model.Cell // competing cells that have values, in the order of the plan
	// Reference is the cell whose losses the other cells are compared with.
	Reference *model.Cell
	Losses    map[*model.Cell]Loss // known held-out losses by cell
	medians   map[*model.Cell]float64
	levels    map[*model.Cell]float64 // level of each cell, from the function level
	Best      *model.Cell             // best of the cells that may win, or nil
	Rivals    []Rival
	// Barred lists the cells that cannot win because their held-out loss is worse.
	Barred []*model.Cell
	// Crashed lists the cells that cannot win because too many of their runs failed.
	Crashed []*model.Cell
	Bounds  []*model.Cell // cells of this work without communication, which do not compete; see bounds
	// Comparisons is the number of comparisons that were judged together, over the table and all works.
	Comparisons int
}

// Rival is a cell that competes with the best cell. Change and Pair go from the rival to the best cell.
type Rival struct {
	Cell   *model.Cell
	Change judge.Change
	Pair   judge.Pair
}

// IsWork reports whether an axis changes the work, i.e. what is computed. Cells with different work do not compete.
func IsWork(axis string) bool {
	for key := range strings.SplitSeq(axis, "+") {
		kind, setting, _ := strings.Cut(key, ".")
		if setting == "engine" || setting == "blas" { // these compute the same result in another way
			continue
		}
		if slices.Contains([]string{"model", "data", "create_criterion", "preprocess_data", "operation", "bytes",
			"sparse", "mode"}, kind) {
			return true
		}
	}
	return false
}

// Contests returns the contest of each work, in the order of the plan.
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

// enter sets up the contest of each work. It decides which cells may win and which of them is best. It does not judge
// the rivals yet.
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

// workOf returns the name of a cell's work, or "" if all cells do the same work.
func workOf(s *model.Study, c *model.Cell) string {
	var parts []string
	for i, a := range s.Axes {
		if len(a.Values) > 1 && IsWork(a.Name) {
			parts = append(parts, a.Name+" "+c.Values[i])
		}
	}
	return strings.Join(parts, ", ")
}

// refer sets the reference. It is the baseline or, in another work, the cell with the same values as the baseline on
// all other axes.
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

// enter sorts the cells of the contest. It finds the crashed cells, the barred cells, the best cell, and the rivals in
// the order of their levels.
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

// Runs returns the values of a cell. The values of the baseline include the values of its A/A cell.
func (o *Contest) Runs(c *model.Cell) []float64 { return runsOf(o.Study, c, o.Metric.Name).Values }

// Median returns the median of the cell's runs.
func (o *Contest) Median(c *model.Cell) float64 { return o.medians[c] }

// Open returns the rivals that are not proven worse than the best cell.
func (o *Contest) Open() (open []Rival) {
	for _, r := range o.Rivals {
		if r.Change.Verdict != judge.Better {
			open = append(open, r)
		}
	}
	return open
}

// bounds returns the cells that have runs and whose trainers exchanged no data in any of them. Such cells show how long
// an iteration takes without communication. They do not compete with cells that communicate, because each of their
// trainers learns from less data. If no cell communicates, bounds returns nil.
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
