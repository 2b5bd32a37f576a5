package study

import (
	"math"

	"github.com/psbench/psbench/core/study/judge"
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
	FloorOf int // runs, or rounds of a study in rounds
	NoFloor error
	// InRounds says that the comparisons are within rounds, as of the study.
	InRounds bool
	held     yardstick
	// Within is the axis along which nothing was compared, as of the study.
	Within string
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
	family *family
}

// Judge prepares what comparisons by a metric with whatever baseline have in common: the noise floor,
// which is that of the study's own baseline and its A/A cell, and the family of the comparisons that sentences speak of.
func (s *Study) Judge(m Metric) *Judge {
	family := s.family(m, s.enter(m))
	return &Judge{s, m, family.yardstick, family}
}

// Against judges all cells that have runs of their own against the one at a place in Cells. The study's own
// baseline has the runs of its A/A cell as well, which is compared with nothing else.
func (j *Judge) Against(baseline int) *Verdicts {
	s, m, y := j.study, j.metric, j.held
	v := &Verdicts{Metric: m, Rows: make([]Row, len(s.Cells)), Floor: y.floor, FloorOf: y.of, NoFloor: y.none, held: y, Within: s.Within, InRounds: s.InRounds}
	own := baseline == s.Baseline
	compared := j.rows(baseline)
	for i, c := range s.Cells {
		v.Rows[i] = Row{Cell: c, Estimate: judge.Of(s.runs(c, m.Name).Values)}
		if change, ok := compared[c]; ok {
			v.Rows[i].Change, v.Rows[i].Compared = withhold(change, s.crashes(s.counterpart(c, s.Cells[baseline])), s.crashes(c)), true
		}
	}
	if s.Again != nil {
		values, runs := s.runs(s.Again, m.Name), s.runs(s.Cells[s.Baseline], m.Name)
		v.Again = &Row{Cell: s.Again, Estimate: judge.Of(values.Values)}
		if own && len(runs.Values) > 0 && len(values.Values) > 0 {
			v.Again.Change = judge.Compare([]judge.Pair{{Old: runs, New: values}}, m.Better == Higher, v.Floor)[0]
			v.Again.Change.Needed = 0 // more runs of the same tell nothing apart
			v.Again.Compared = true
		}
	}
	return v
}

// rows are the changes of all cells that are compared with a baseline. With the study's own one they are of the family of the
// sentences; another one has a family of its own, for which runs are needed as for the first.
func (j *Judge) rows(baseline int) map[*Cell]judge.Change {
	s, m := j.study, j.metric
	changes := map[*Cell]judge.Change{}
	if baseline == s.Baseline {
		for _, c := range s.Cells {
			if from := s.counterpart(c, s.Cells[baseline]); from != nil && from != c {
				if change, _, ok := j.family.of(from, c); ok {
					changes[c] = change
				}
			}
		}
		return changes
	}
	var pairs []judge.Pair
	var cells []*Cell
	for _, c := range s.Cells {
		from := s.counterpart(c, s.Cells[baseline])
		if from == nil || from == c || c.Same != "" {
			continue
		}
		if pair := (judge.Pair{Old: s.runsOf(from, m.Name), New: s.runsOf(c, m.Name)}); len(pair.Old.Values) > 0 && len(pair.New.Values) > 0 {
			pairs, cells = append(pairs, pair), append(cells, c)
		}
	}
	for i, change := range j.held.compareAmong(pairs, len(j.family.pairs)) {
		changes[cells[i]] = change
	}
	return changes
}

// FloorIsShare says whether the floor is told as a share of what runs have.
func (v *Verdicts) FloorIsShare() bool { return !v.held.each && v.held.isShare() }

// yardstick is what differences by a metric are held to: the noise floor of this machine.
type yardstick struct {
	metric Metric
	floor  judge.Floor
	center float64 // the median that the floor is relative to; NaN where there are several
	of     int     // runs, or rounds of a study in rounds
	none   error   // why there is no floor
	// each says that there is no floor for all, but that each comparison has that of its own rounds.
	each bool
}

func (s *Study) yardstick(m Metric) yardstick {
	switch {
	case s.within() >= 0:
		return s.sizedFloor(m)
	case len(s.Cells) == 0:
		_, err := judge.FloorOf(nil, s.Seed)
		return yardstick{metric: m, center: math.NaN(), none: err}
	case s.InRounds && s.Again == nil && !m.learns():
		return yardstick{metric: m, center: math.NaN(), each: true}
	}
	baseline := s.Cells[s.Baseline]
	all := s.runsOf(baseline, m.Name).Values
	y := yardstick{metric: m, center: judge.Of(all).Median, of: len(all)}
	switch {
	case m.learns(): // of which the A/A cell has the same values, since it has the same seeds
		own := s.runs(baseline, m.Name).Values
		y.floor, y.none = judge.FloorOf(own, s.Seed)
		y.of = len(own)
	case s.InRounds:
		y.floor, y.none = judge.FloorOfRounds(s.runs(baseline, m.Name), s.runs(s.Again, m.Name))
		y.of = y.floor.Runs
	default:
		y.floor, y.none = judge.FloorOf(all, s.Seed)
	}
	return y
}

// compare judges pairs together. Without a floor nothing is proven.
func (y yardstick) compare(pairs []judge.Pair) []judge.Change {
	return y.compareAmong(pairs, len(pairs))
}

// compareAmong is compare, but says which runs are needed for so many comparisons at least.
func (y yardstick) compareAmong(pairs []judge.Pair, comparisons int) []judge.Change {
	changes := judge.CompareAmong(pairs, comparisons, y.metric.Better == Higher, y.floor)
	for i := range changes {
		if y.none != nil {
			changes[i].Verdict, changes[i].Needed = judge.CannotTell, 0
			if ok, fewest := pairs[i].Provable(max(comparisons, len(pairs))); !ok {
				changes[i].Needed = fewest
			}
		}
	}
	return changes
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
