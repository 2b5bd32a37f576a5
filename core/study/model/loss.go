package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/screen"
)

// loss is a cell's held-out loss beside that of the reference.
type loss struct {
	median, reference float64
	change            judge.Change
	floor             judge.Floor // of the reference: how its losses differ from seed to seed
	compared          bool
	barred            bool // it is proven to be worse by more than the floor, or no number where others have one
}

// rounding is by how much of itself a loss may change where sums are added up in another order.
const rounding = 1e-6

// judgeLosses compares the held-out losses of all cells with those of the references, all works together. Runs of the same
// seed are compared with each other, since they train on the same samples from the same weights. That finds changes which are
// smaller than those from seed to seed, and so matter to nobody: a cell is barred for larger ones only. The A/A cell has the
// seeds of the baseline, so its losses are the same ones and count for nothing.
func judgeLosses(all []*contest) {
	metric, err := MetricOf(HeldOutLoss)
	if err != nil {
		return
	}
	var pairs []judge.Pair
	type place struct {
		of   *contest
		cell *Cell
	}
	var places []place
	for _, o := range all {
		reference := o.study.bySeed(o.reference)
		if len(reference.Values) == 0 {
			continue
		}
		floor, err := judge.FloorOf(reference.Values, o.study.Seed)
		if err != nil { // and only that of the comparison itself counts
			floor = judge.Floor{}
		}
		floor.Change = max(floor.Change, rounding)
		for _, c := range o.cells {
			own := o.study.bySeed(c)
			if len(own.Values) == 0 {
				continue
			}
			o.losses[c] = loss{median: judge.Of(own.Values).Median, reference: judge.Of(reference.Values).Median, floor: floor}
			if c != o.reference {
				pairs, places = append(pairs, paired(reference, own)), append(places, place{o, c})
			}
		}
	}
	for i, change := range judge.Compare(pairs, metric.Better == Higher, judge.Floor{Change: rounding}) {
		p := places[i]
		l := p.of.losses[p.cell]
		l.change, l.compared, l.barred = change, true, change.Verdict == judge.Worse && change.Exceeds(l.floor)
		p.of.losses[p.cell] = l
	}
	for _, o := range all {
		o.barNoNumbers()
	}
}

// barNoNumbers bars cells whose loss is no number where another one's is.
func (o *contest) barNoNumbers() {
	known := slices.ContainsFunc(o.cells, func(c *Cell) bool { l, ok := o.losses[c]; return ok && !math.IsNaN(l.median) })
	for c, l := range o.losses {
		if l.barred = l.barred || known && math.IsNaN(l.median); l.barred {
			o.losses[c] = l
		}
	}
}

// bySeed are the held-out losses of a cell, in which each seed is a round.
func (s *Study) bySeed(c *Cell) judge.Runs {
	losses := judge.Runs{}
	for _, r := range c.Runs {
		if v, ok := r.Values[HeldOutLoss]; ok {
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

// isRounding says that a loss differs by no more than sums do that are added up in another order.
func (l loss) isRounding() bool { return !l.change.Exceeds(judge.Floor{Change: rounding}) }

// level is by what a cell is ranked among the others of its work, as Study.level is.
func (o *contest) level(c *Cell) float64 { return o.levels[c] }

// lossText says at what held-out loss the best cell leads, and which cells cannot win for theirs.
func (o *contest) lossText() string {
	var parts []string
	if o.best != nil {
		switch l, known := o.losses[o.best]; {
		case known && o.alone():
			parts = append(parts, "held-out loss "+number(l.median))
		case known:
			parts = append(parts, o.best.Name+": "+o.describe(l))
		}
	}
	var faster []string
	for _, c := range o.barred {
		if o.best == nil || o.metric.beats(o.level(c), o.level(o.best)) {
			faster = append(faster, fmt.Sprintf("%s (%s, held-out loss %s)", c.Name, o.metric.quantity(o.median(c)), o.losses[c].text()))
		}
	}
	if len(faster) > 0 {
		parts = append(parts, fmt.Sprintf("better by %s but barred for held-out loss: %s", o.metric.worded(), named(faster)))
	} else if n := len(o.barred); n > 0 {
		parts = append(parts, are(n, "other cell")+" barred for held-out loss")
	}
	if len(parts) == 0 && o.study.OneRun() {
		return "not known: the run was not evaluated on held-out samples"
	}
	if len(parts) == 0 {
		return "not known: no run was evaluated on held-out samples"
	}
	return strings.Join(parts, "; ")
}

// describe is a loss beside that of the reference.
func (o *contest) describe(l loss) string {
	text := "held-out loss " + number(l.median)
	if !l.compared {
		return text + ", which the others are compared with"
	}
	reference := "the baseline"
	if o.reference != o.study.Cells[o.study.Baseline] {
		reference = o.reference.Name
	}
	if math.IsNaN(l.reference) {
		return fmt.Sprintf("%s, beside a loss of %s that is not finite", text, reference)
	}
	return fmt.Sprintf("%s, beside %s of %s (%s)", text, number(l.reference), reference, l.text())
}

// text is how a loss differs from that of the reference, and how sure that is.
func (l loss) text() string {
	metric, _ := MetricOf(HeldOutLoss)
	change := metric.change(l.change)
	switch {
	case math.IsNaN(l.median) || math.IsNaN(l.reference) || change == "-":
		return "not finite"
	case l.change.Change == 0:
		return "the same"
	case l.isRounding():
		return "the same but for rounding"
	}
	return fmt.Sprintf("%s, %s, floor %s", change, probability(l.change.Adjusted), screen.Percent(l.floor.Change))
}
