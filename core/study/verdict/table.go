// Package verdict determines what the runs of a study prove: which cell is best, by how much and how surely, and how
// two studies differ. It also collects the study's warnings. It pairs the runs of cells; package judge does the
// statistics.
package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Table holds the judgement of a study's cells by one metric.
type Table struct {
	Metric model.Metric
	// Rows has one row for each of the study's Cells, in their order.
	Rows []Row
	// Again compares the A/A cell with the baseline. It is nil without an A/A cell.
	Again *Row
	// Floor is the noise floor from the runs of the baseline and its A/A cell. NoFloor is the reason if there is no
	// floor.
	Floor   judge.Floor
	FloorOf int // number of runs behind the floor, or of rounds if the study has rounds
	NoFloor error
	// InRounds is true if the comparisons are within rounds; see model.Study.
	InRounds bool
	Held     Yardstick
	// Within is the axis that comparisons do not cross; see model.Study.
	Within string
}

// Row is the judgement of one cell.
type Row struct {
	Cell     *model.Cell
	Estimate judge.Estimate
	// Compared is true if the cell was compared with the baseline.
	Compared bool
	Change   judge.Change
}

// TableOf compares all cells that have their own runs with the study's baseline.
func TableOf(s *model.Study, m model.Metric) *Table { return NewJudge(s, m).Against(s.Baseline) }

// Judge judges the cells of a study by one metric. The caller chooses the baseline.
type Judge struct {
	study  *model.Study
	metric model.Metric
	held   Yardstick
	family *family
}

// NewJudge computes everything that does not depend on the choice of baseline. That is the noise floor from the study's
// own baseline and its A/A cell, and the family of comparisons that sentences report.
func NewJudge(s *model.Study, m model.Metric) *Judge {
	family := familyOf(s, m, enter(s, m))
	return &Judge{s, m, family.Yardstick, family}
}

// Against compares all cells that have their own runs with the cell at index baseline. The study's own baseline
// includes the runs of its A/A cell. The A/A cell itself is compared only with that baseline.
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
			v.Again.Change.Needed = 0 // more runs of the same experiment would show no difference
			v.Again.Compared = true
		}
	}
	return v
}

// rows returns the changes of all cells that are compared with a baseline. For the study's own baseline, these changes
// come from the family that the sentences use. Any other baseline gets a new family, but each Needed is estimated for
// the number of comparisons in the first family.
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

// FloorIsShare reports whether to show the floor as a percentage.
func (v *Table) FloorIsShare() bool { return !v.Held.Each && v.Held.IsShare() }
