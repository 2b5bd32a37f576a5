package verdict

import (
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Loss is a cell's held-out loss beside that of the reference.
type Loss struct {
	Median, Reference float64
	Change            judge.Change
	Floor             judge.Floor // of the reference: how its losses differ from seed to seed
	Compared          bool
	barred            bool // it is proven to be worse by more than the floor, or no number where others have one
}

// rounding is by how much of itself a loss may change where sums are added up in another order.
const rounding = 1e-6

// judgeLosses compares the held-out losses of all cells with those of the references, all works together. Runs of the
// same seed are compared with each other, since they train on the same samples from the same weights. That finds
// changes which are smaller than those from seed to seed, and so matter to nobody: a cell is barred for larger ones
// only. The A/A cell has the seeds of the baseline, so its losses are the same ones and count for nothing.
func judgeLosses(all []*Contest) {
	metric, err := model.MetricOf(model.HeldOutLoss)
	if err != nil {
		return
	}
	var pairs []judge.Pair
	type place struct {
		of   *Contest
		cell *model.Cell
	}
	var places []place
	for _, o := range all {
		reference := bySeed(o.Study, o.Reference)
		if len(reference.Values) == 0 {
			continue
		}
		floor, err := judge.FloorOf(reference.Values, o.Study.Seed)
		if err != nil { // and only that of the comparison itself counts
			floor = judge.Floor{}
		}
		floor.Change = max(floor.Change, rounding)
		for _, c := range o.Cells {
			own := bySeed(o.Study, c)
			if len(own.Values) == 0 {
				continue
			}
			o.Losses[c] = Loss{Median: judge.Of(own.Values).Median, Reference: judge.Of(reference.Values).Median,
				Floor: floor}
			if c != o.Reference {
				pairs, places = append(pairs, paired(reference, own)), append(places, place{o, c})
			}
		}
	}
	for i, change := range judge.Compare(pairs, metric.Better == model.Higher, judge.Floor{Change: rounding}) {
		p := places[i]
		l := p.of.Losses[p.cell]
		l.Change, l.Compared, l.barred = change, true, change.Verdict == judge.Worse && change.Exceeds(l.Floor)
		p.of.Losses[p.cell] = l
	}
	for _, o := range all {
		o.barNoNumbers()
	}
}

// barNoNumbers bars cells whose loss is no number where another one's is.
func (o *Contest) barNoNumbers() {
	known := slices.ContainsFunc(o.Cells,
		func(c *model.Cell) bool { l, ok := o.Losses[c]; return ok && !math.IsNaN(l.Median) })
	for c, l := range o.Losses {
		if l.barred = l.barred || known && math.IsNaN(l.Median); l.barred {
			o.Losses[c] = l
		}
	}
}

// bySeed are the held-out losses of a cell, in which each seed is a round.
func bySeed(s *model.Study, c *model.Cell) judge.Runs {
	losses := judge.Runs{}
	for _, r := range c.Runs {
		if v, ok := r.Values[model.HeldOutLoss]; ok {
			losses.Values, losses.Rounds = append(losses.Values, v), append(losses.Rounds, int(r.Seed)) // #nosec G115 -- it is compared alone
		}
	}
	return losses
}

// paired are losses by seed, or apart where few seeds are on both sides.
func paired(old, new judge.Runs) judge.Pair {
	both := map[int]bool{}
	for _, seed := range old.Rounds {
		if slices.Contains(new.Rounds, seed) {
			both[seed] = true
		}
	}
	if len(both) < judge.FewestRounds {
		old.Rounds, new.Rounds = nil, nil
	}
	return judge.Pair{Old: old, New: new}
}

// IsRounding says that a loss differs by no more than sums do that are added up in another order.
func (l Loss) IsRounding() bool { return !l.Change.Exceeds(judge.Floor{Change: rounding}) }

// Level is by what a cell is ranked among the others of its work.
func (o *Contest) Level(c *model.Cell) float64 { return o.levels[c] }
