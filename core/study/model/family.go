package study

import "github.com/psbench/psbench/core/study/judge"

// family is the comparisons by a metric of which a study speaks: each cell with the baseline, and the best cell of each work
// with each other one. They are judged together, so that a row of the table and a sentence say the same of the same two cells.
type family struct {
	yardstick
	pairs   []judge.Pair
	places  map[[2]*Cell]int // in pairs, by the old and the new cell
	changes []judge.Change
}

// family judges the comparisons with the baseline and those of contests.
func (s *Study) family(m Metric, contests []*contest) *family {
	f := &family{yardstick: s.yardstick(m), places: map[[2]*Cell]int{}}
	for _, c := range s.Cells {
		if from := s.counterpart(c, s.Cells[s.Baseline]); from != nil && from != c {
			f.add(s, from, c)
		}
	}
	for _, o := range contests {
		for _, r := range o.rivals {
			f.add(s, r.cell, o.best)
		}
	}
	f.changes = f.compare(f.pairs)
	return f
}

// add adds the comparison of two cells that have runs, unless it is there in either direction.
func (f *family) add(s *Study, old, fresh *Cell) {
	pair := judge.Pair{Old: s.runsOf(old, f.metric.Name), New: s.runsOf(fresh, f.metric.Name)}
	_, there := f.places[[2]*Cell{old, fresh}]
	_, back := f.places[[2]*Cell{fresh, old}]
	if there || back || fresh.Same != "" || len(pair.Old.Values) == 0 || len(pair.New.Values) == 0 {
		return
	}
	f.places[[2]*Cell{old, fresh}] = len(f.pairs)
	f.pairs = append(f.pairs, pair)
}

// of is what became of an old cell in a new one; ok says that they were compared.
func (f *family) of(old, fresh *Cell) (change judge.Change, pair judge.Pair, ok bool) {
	if at, ok := f.places[[2]*Cell{old, fresh}]; ok {
		return f.changes[at], f.pairs[at], true
	}
	at, ok := f.places[[2]*Cell{fresh, old}]
	if !ok {
		return judge.Change{}, judge.Pair{}, false
	}
	pair = judge.Pair{Old: f.pairs[at].New, New: f.pairs[at].Old}
	return f.changes[at].Reversed(pair, f.floor), pair, true
}
