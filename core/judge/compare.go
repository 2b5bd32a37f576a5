package judge

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Verdict is what a comparison proves.
type Verdict string

// The verdicts: Better and Worse are proven.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	CannotTell Verdict = "cannot tell"
)

// Pair is the runs of one comparison, in any order.
type Pair struct{ Old, New []float64 }

// Against are the comparisons of arms with a baseline. In a sweep that is the runs of the baseline and
// of its A/A cell together, which are of the same.
func Against(baseline []float64, arms [][]float64) []Pair {
	pairs := make([]Pair, len(arms))
	for i, arm := range arms {
		pairs[i] = Pair{baseline, arm}
	}
	return pairs
}

// Change is what became of old runs in new ones. All changes are relative: 0.05 is 5 % more.
type Change struct {
	// Change is that of the medians. It is NaN where there are no runs on a side, where one is not
	// finite, and where the old median alone is 0.
	Change float64
	// Low and High are its interval of 95 % confidence, infinite with too few runs for one.
	Low, High float64
	// Difference is set where no relative change can be told, and is told in its place: see Relative. The
	// verdict rests on Change all the same.
	Difference *Difference
	// P is that of the Mann-Whitney test; Adjusted is corrected for all pairs that were compared.
	P, Adjusted float64
	Verdict     Verdict
	// Needed is how many runs on each side would prove such a change in 4 of 5 studies, if it is
	// there: above MostNeeded is hopeless, 0 where it is proven, where runs do not help or
	// nothing can be estimated.
	Needed int
}

// Proven says whether the runs show a change.
func (c Change) Proven() bool { return c.Verdict != CannotTell }

// Compare judges all pairs together: a change is proven if its p, corrected by Holm's method, is below
// Alpha and the change of medians is above the floor.
func Compare(pairs []Pair, higherIsBetter bool, floor Floor) []Change {
	changes := make([]Change, len(pairs))
	ends := leftOuts{}
	for i, p := range pairs {
		changes[i] = p.change(ends)
	}
	holm(changes)
	for i, p := range pairs {
		c := &changes[i]
		switch {
		case !(c.Adjusted < Alpha && math.Abs(c.Change) > floor.Change): // which NaN is not
			c.Verdict = CannotTell
			c.Needed = p.needed(*c, len(pairs), floor)
		case c.Change > 0 == higherIsBetter:
			c.Verdict = Better
		default:
			c.Verdict = Worse
		}
	}
	return changes
}

// change is that of a pair by itself.
func (p Pair) change(ends leftOuts) Change {
	if !p.judgeable() {
		return Change{Change: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1}
	}
	c := Change{Change: relative(medianOf(p.Old), medianOf(p.New)), P: p.mannWhitney()}
	c.Low, c.High = p.interval(ends)
	// It is about shifts, and the medians of few runs may differ by more than most pairs of runs do.
	if !math.IsNaN(c.Change) {
		c.Low, c.High = min(c.Low, c.Change), max(c.High, c.Change)
	}
	if !p.isRelative(c) {
		d := p.difference(ends)
		c.Difference = &d
	}
	return c
}

func (p Pair) judgeable() bool {
	return len(p.Old) > 0 && len(p.New) > 0 && finite(p.Old) && finite(p.New)
}

// mannWhitney is the two-sided p, exact for up to 50 runs a side, or 25 where some are equal.
//
// With equal values and sides of different size the distribution has two different tails, of
// which the library takes the lower one whichever it needs; the larger p of both is safe.
func (p Pair) mannWhitney() float64 {
	up := benchmath.AssumeNothing.Compare(sample(p.Old), sample(p.New)).P
	down := benchmath.AssumeNothing.Compare(sample(negated(p.Old)), sample(negated(p.New))).P
	return min(1, max(up, down))
}

func negated(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = -v
	}
	return out
}

// holm adjusts p: the smallest of m is multiplied by m, the next by m-1, and so on, and none is
// smaller than the one before it.
func holm(changes []Change) {
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case changes[a].P < changes[b].P:
			return -1
		case changes[a].P > changes[b].P:
			return 1
		}
		return 0
	})
	last := 0.0
	for rank, i := range order {
		last = max(last, min(1, changes[i].P*float64(len(changes)-rank)))
		changes[i].Adjusted = last
	}
}
