package verdict

import (
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Loss is the held-out loss of a cell and its change from the reference's loss.
type Loss struct {
	Median, Reference float64
	Change            judge.Change
	Floor             judge.Floor // variation between seeds of the reference's losses
	Compared          bool
	barred            bool // the loss is proven worse by more than Floor, or is NaN while another cell's loss is not
}

// rounding is the largest relative change of a loss that a different order of summation can cause.
const rounding = 1e-6

// judgeLosses compares the held-out losses of all cells with their references, over all works together. It pairs runs
// of the same seed, which train on the same samples from the same initial weights. Pairing also finds changes that are
// smaller than the variation between seeds. Such small changes do not matter, so only larger changes bar a cell. The
// A/A cell has the same seeds as the baseline. Its losses are equal to the baseline's and do not count.
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
		if err != nil { // the losses give no floor, so only the comparison's own floor counts
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

// barNoNumbers bars cells whose loss is NaN, unless the losses of all cells are NaN.
func (o *Contest) barNoNumbers() {
	known := slices.ContainsFunc(o.Cells,
		func(c *model.Cell) bool { l, ok := o.Losses[c]; return ok && !math.IsNaN(l.Median) })
	for c, l := range o.Losses {
		if l.barred = l.barred || known && math.IsNaN(l.Median); l.barred {
			o.Losses[c] = l
		}
	}
}

// bySeed returns the held-out losses of a cell. Each seed serves as a round.
func bySeed(s *model.Study, c *model.Cell) judge.Runs {
	losses := judge.Runs{}
	for _, r := range c.Runs {
		if v, ok := r.Values[model.HeldOutLoss]; ok {
			losses.Values, losses.Rounds = append(losses.Values, v), append(losses.Rounds, int(r.Seed)) // #nosec G115 -- it is compared alone
		}
	}
	return losses
}

// paired pairs losses by seed. If the two sides have too few common seeds, it compares the runs without pairing.
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

// IsRounding reports whether a different order of summation alone could cause the change.
func (l Loss) IsRounding() bool { return !l.Change.Exceeds(judge.Floor{Change: rounding}) }

// Level returns the value that ranks a cell among the others of its work.
func (o *Contest) Level(c *model.Cell) float64 { return o.levels[c] }
