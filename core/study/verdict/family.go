package verdict

import (
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// family holds all comparisons that a study reports for one metric. It compares each cell with the baseline, and the
// best cell of each work with its rivals. All comparisons are judged together, so a table row and a sentence about the
// same two cells agree.
type family struct {
	Yardstick
	pairs   []judge.Pair
	places  map[[2]*model.Cell]int // index in pairs, by the old and the new cell
	changes []judge.Change
}

// familyOf judges the comparisons with the baseline and within the contests.
func familyOf(s *model.Study, m model.Metric, contests []*Contest) *family {
	f := &family{Yardstick: yardstickOf(s, m), places: map[[2]*model.Cell]int{}}
	for _, c := range s.Cells {
		if from := s.Counterpart(c, s.Cells[s.Baseline]); from != nil && from != c {
			f.add(s, from, c)
		}
	}
	for _, o := range contests {
		for _, r := range o.Rivals {
			f.add(s, r.Cell, o.Best)
		}
	}
	f.changes = f.compare(f.pairs)
	return f
}

// add adds the comparison of two cells that have runs. It does nothing if the family already compares them in either
// direction.
func (f *family) add(s *model.Study, old, fresh *model.Cell) {
	pair := judge.Pair{Old: runsOf(s, old, f.Metric.Name), New: runsOf(s, fresh, f.Metric.Name)}
	_, there := f.places[[2]*model.Cell{old, fresh}]
	_, back := f.places[[2]*model.Cell{fresh, old}]
	if there || back || fresh.Same != "" || len(pair.Old.Values) == 0 || len(pair.New.Values) == 0 {
		return
	}
	f.places[[2]*model.Cell{old, fresh}] = len(f.pairs)
	f.pairs = append(f.pairs, pair)
}

// of returns the change from the old cell to the new one. ok is false if the two cells were not compared.
func (f *family) of(old, fresh *model.Cell) (change judge.Change, pair judge.Pair, ok bool) {
	if at, ok := f.places[[2]*model.Cell{old, fresh}]; ok {
		return f.changes[at], f.pairs[at], true
	}
	at, ok := f.places[[2]*model.Cell{fresh, old}]
	if !ok {
		return judge.Change{}, judge.Pair{}, false
	}
	pair = judge.Pair{Old: f.pairs[at].New, New: f.pairs[at].Old}
	return f.changes[at].Reversed(pair, f.Floor), pair, true
}
