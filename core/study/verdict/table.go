// Package verdict is what the runs of a study prove: which cell is best, by how much and how surely, what differs
// between two studies, and its warnings. It pairs the runs of cells and has package judge decide.
package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Table are what the runs of a study come to by one metric.
type Table struct {
	Metric model.Metric
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
	Held     Yardstick
	// Within is the axis along which nothing was compared, as of the study.
	Within string
}

// Row is what the runs of a cell come to.
type Row struct {
	Cell     *model.Cell
	Estimate judge.Estimate
	// Compared says that it was compared with the baseline.
	Compared bool
	Change   judge.Change
}

// TableOf judges all cells that have runs of their own against the baseline.
func TableOf(s *model.Study, m model.Metric) *Table { return NewJudge(s, m).Against(s.Baseline) }

// Judge judges the cells of a study by one metric, against one baseline after the other.
type Judge struct {
	study  *model.Study
	metric model.Metric
	held   Yardstick
	family *family
}

// NewJudge prepares what comparisons by a metric with whatever baseline have in common: the noise floor,
// which is that of the study's own baseline and its A/A cell, and the family of the comparisons that sentences speak
// of.
func NewJudge(s *model.Study, m model.Metric) *Judge {
	family := familyOf(s, m, enter(s, m))
	return &Judge{s, m, family.Yardstick, family}
}

// Against judges all cells that have runs of their own against the one at a place in Cells. The study's own
// baseline has the runs of its A/A cell as well, which is compared with nothing else.
func (j *Judge) Against(baseline int) *Table {
	s, m, y := j.study, j.metric, j.held
	v := &Table{Metric: m, Rows: make([]Row, len(s.Cells)), Floor: y.Floor, FloorOf: y.of, NoFloor: y.None, Held: y,
		Within: s.Within, InRounds: s.InRounds}
	own := baseline == s.Baseline
	compared := j.rows(baseline)
	for i, c := range s.Cells {
		v.Rows[i] = Row{Cell: c, Estimate: judge.Of(ownRuns(s, c, m.Name).Values)}
		if change, ok := compared[c]; ok {
			v.Rows[i].Change, v.Rows[i].Compared = withhold(change, crashes(s, s.Counterpart(c, s.Cells[baseline])),
				crashes(s, c)), true
		}
	}
	if s.Again != nil {
		values, runs := ownRuns(s, s.Again, m.Name), ownRuns(s, s.Cells[s.Baseline], m.Name)
		v.Again = &Row{Cell: s.Again, Estimate: judge.Of(values.Values)}
		if own && len(runs.Values) > 0 && len(values.Values) > 0 {
			v.Again.Change = judge.Compare([]judge.Pair{{Old: runs, New: values}}, m.Better == model.Higher, v.Floor)[0]
			v.Again.Change.Needed = 0 // more runs of the same tell nothing apart
			v.Again.Compared = true
		}
	}
	return v
}

// rows are the changes of all cells that are compared with a baseline. With the study's own one they are of the family
// of the sentences; another one has a family of its own, for which runs are needed as for the first.
func (j *Judge) rows(baseline int) map[*model.Cell]judge.Change {
	s, m := j.study, j.metric
	changes := map[*model.Cell]judge.Change{}
	if baseline == s.Baseline {
		for _, c := range s.Cells {
			if from := s.Counterpart(c, s.Cells[baseline]); from != nil && from != c {
				if change, _, ok := j.family.of(from, c); ok {
					changes[c] = change
				}
			}
		}
		return changes
	}
	var pairs []judge.Pair
	var cells []*model.Cell
	for _, c := range s.Cells {
		from := s.Counterpart(c, s.Cells[baseline])
		if from == nil || from == c || c.Same != "" {
			continue
		}
		if pair := (judge.Pair{Old: runsOf(s, from, m.Name), New: runsOf(s, c, m.Name)}); len(pair.Old.Values) > 0 &&
			len(pair.New.Values) > 0 {
			pairs, cells = append(pairs, pair), append(cells, c)
		}
	}
	for i, change := range j.held.compareAmong(pairs, len(j.family.pairs)) {
		changes[cells[i]] = change
	}
	return changes
}

// FloorIsShare says whether the floor is told as a share of what runs have.
func (v *Table) FloorIsShare() bool { return !v.Held.Each && v.Held.IsShare() }
