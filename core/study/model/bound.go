package study

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
)

// isSilent says whether several trainers exchanged nothing: nothing connects them, and no server
// answered a push or a lookup.
func isSilent(r *result.Result) bool {
	trainers := 0
	serves := map[int]bool{}
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			trainers++
		}
		serves[p.Rank] = serves[p.Rank] || p.Kind == "server"
	}
	connected := slices.ContainsFunc(r.Connected, func(set []int) bool { return len(set) > 1 })
	answered := slices.ContainsFunc(r.Series, func(s *result.Series) bool { return serves[s.Rank] && s.Len() > 0 })
	return trainers > 1 && len(r.Connected) > 0 && !connected && !answered
}

// bounds are the cells that run whose trainers exchange nothing. They show what an iteration takes
// without communication and compete with none that communicates: their trainers learn from less. Where
// all are so there is no other way to train, and none of them is a bound.
func (s *Study) bounds() map[*Cell]bool {
	bounds, others := map[*Cell]bool{}, false
	for _, c := range s.Cells {
		switch {
		case len(c.Runs) == 0:
		case slices.ContainsFunc(c.Runs, func(r *Run) bool { return !r.Silent }):
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

// boundText says what the best of the bounds of a work reaches, beside the best cell; "" without any.
func (o *contest) boundText() string {
	if len(o.bounds) == 0 || o.best == nil {
		return ""
	}
	median := func(c *Cell) float64 { return judge.Of(o.runs(c)).Median }
	top := o.bounds[0]
	for _, c := range o.bounds {
		if o.metric.beats(median(c), median(top)) {
			top = c
		}
	}
	change := o.metric.changed(o.median(o.best), median(top))
	return fmt.Sprintf("%s: without communication %s, %s beside %s; trainers that exchange nothing show what can be gained, and do not compete",
		top.Name, o.value(top), change, o.best.Name)
}
