package study

import (
	"math"

	"github.com/psbench/psbench/core/judge"
)

// Verdicts are what the runs of a study come to by one metric.
type Verdicts struct {
	Metric Metric
	// Rows are by place in Cells.
	Rows []Row
	// Again is the A/A cell against the baseline, if there is one.
	Again *Row
	// Floor is that of the runs of the baseline and its A/A cell; NoFloor says why there is none.
	Floor   judge.Floor
	FloorOf int // runs
	NoFloor error
	held    yardstick
	// Within is the axis along which nothing was compared, as of the study.
	Within string
	// Comparisons is how many cells were compared with the baseline.
	Comparisons int
}

// Row is what the runs of a cell come to.
type Row struct {
	Cell     *Cell
	Estimate judge.Estimate
	// Compared says that it was compared with the baseline.
	Compared bool
	Change   judge.Change
}

// Verdicts judges all cells that have runs of their own against the baseline.
func (s *Study) Verdicts(m Metric) *Verdicts { return s.Judge(m).Against(s.Baseline) }

// Judge judges the cells of a study by one metric, against one baseline after the other.
type Judge struct {
	study  *Study
	metric Metric
	held   yardstick
}

// Judge prepares what comparisons by a metric with whatever baseline have in common: the noise floor,
// which is that of the study's own baseline and its A/A cell.
func (s *Study) Judge(m Metric) *Judge { return &Judge{s, m, s.yardstick(m)} }

// Against judges all cells that have runs of their own against the one at a place in Cells. The study's own
// baseline has the runs of its A/A cell as well, which is compared with nothing else.
func (j *Judge) Against(baseline int) *Verdicts {
	s, m, y := j.study, j.metric, j.held
	v := &Verdicts{Metric: m, Rows: make([]Row, len(s.Cells)), Floor: y.floor, FloorOf: y.of, NoFloor: y.none, held: y, Within: s.Within}
	own := baseline == s.Baseline
	var pairs []judge.Pair
	var places []int
	var olds []*Cell
	for i, c := range s.Cells {
		values := c.Of(m.Name)
		v.Rows[i] = Row{Cell: c, Estimate: judge.Of(values)}
		if i == s.Baseline && !own {
			values = s.baselineRuns(m.Name)
		}
		from := s.counterpart(c, s.Cells[baseline])
		if from == nil || from == c || len(values) == 0 {
			continue
		}
		if against := s.valuesOf(from, m); len(against) > 0 {
			pairs, places, olds = append(pairs, judge.Pair{Old: against, New: values}), append(places, i), append(olds, from)
		}
	}
	for i, change := range y.compare(pairs) {
		row := &v.Rows[places[i]]
		row.Change, row.Compared = withhold(change, s.crashes(s.resolved(olds[i])), s.crashes(row.Cell)), true
	}
	v.Comparisons = len(places)
	if s.Again != nil {
		values := s.Again.Of(m.Name)
		v.Again = &Row{Cell: s.Again, Estimate: judge.Of(values)}
		if runs := s.Cells[s.Baseline].Of(m.Name); own && len(runs) > 0 && len(values) > 0 {
			v.Again.Change = judge.Compare(judge.Against(runs, [][]float64{values}), m.Better == Higher, v.Floor)[0]
			v.Again.Compared = true
		}
	}
	return v
}

// FloorIsShare says whether the floor is told as a share of what runs have.
func (v *Verdicts) FloorIsShare() bool { return v.held.isShare() }

// yardstick is what differences by a metric are held to: the noise floor of this machine.
type yardstick struct {
	metric Metric
	floor  judge.Floor
	center float64 // the median that the floor is relative to; NaN where there are several
	of     int     // runs
	none   error   // why there is no floor
}

func (s *Study) yardstick(m Metric) yardstick {
	if s.within() >= 0 {
		return s.sizedFloor(m)
	}
	a := s.baselineRuns(m.Name)
	floor, err := judge.FloorOf(a, s.Seed)
	return yardstick{m, floor, judge.Of(a).Median, len(a), err}
}

// compare judges pairs together. Without a floor nothing is proven.
func (y yardstick) compare(pairs []judge.Pair) []judge.Change {
	changes := judge.Compare(pairs, y.metric.Better == Higher, y.floor)
	for i := range changes {
		if y.none != nil {
			changes[i].Verdict, changes[i].Needed = judge.CannotTell, max(changes[i].Needed, judge.FewestRuns(len(pairs), judge.Again(len(pairs[i].Old), len(pairs[i].New))))
		}
	}
	return changes
}

// baselineRuns are those of the baseline and of its A/A cell together, which are of the same.
func (s *Study) baselineRuns(metric string) []float64 {
	if len(s.Cells) == 0 {
		return nil
	}
	values := s.Cells[s.Baseline].Of(metric)
	if s.Again != nil {
		values = append(values, s.Again.Of(metric)...)
	}
	return values
}

// worse says by how much of the first a second value is worse, below 0 if it is better.
func (m Metric) worse(than, value float64) float64 {
	change := (value - than) / math.Abs(than)
	if m.Better == Higher {
		return -change
	}
	return change
}

// beats says whether a value is better than another one; NaN beats nothing, and everything beats NaN.
func (m Metric) beats(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return !math.IsNaN(a)
	case m.Better == Higher:
		return a > b
	}
	return a < b
}

// resolved is the cell whose runs a cell has: its own, or those of the one whose experiment it is too.
func (s *Study) resolved(c *Cell) *Cell {
	if c.Same != "" {
		for _, other := range s.Cells {
			if other.ID == c.Same && other.Same == "" {
				return other
			}
		}
	}
	return c
}
