package judge

import (
	"math"
	"slices"
	"sync"

	"github.com/psbench/psbench/internal/numeral"
)

// Verdict is what a comparison proves.
type Verdict string

// The verdicts: Better and Worse are proven.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	CannotTell Verdict = "cannot tell"
)

// Runs are the values of a cell's runs, one each, in any order.
type Runs struct {
	Values []float64
	// Rounds says in which round each value was measured. It is nil if the runs were not made in rounds.
	Rounds []int
}

// Apart are runs that were not made in rounds.
func Apart(values []float64) Runs { return Runs{Values: values} }

// InRounds says whether the runs were made in rounds.
func (r Runs) InRounds() bool { return r.Rounds != nil }

// And are the runs of both, which are of the same. They are in rounds if both are.
func (r Runs) And(other Runs) Runs {
	switch {
	case len(r.Values) == 0:
		return other
	case len(other.Values) == 0:
		return r
	}
	both := Runs{Values: slices.Concat(r.Values, other.Values)}
	if r.InRounds() && other.InRounds() {
		both.Rounds = slices.Concat(r.Rounds, other.Rounds)
	}
	return both
}

// Pair is the runs of one comparison. If both sides were made in the same rounds, the rounds are its blocks.
type Pair struct{ Old, New Runs }

// Change is what became of old runs in new ones. All changes are relative: 0.05 is 5 % more.
type Change struct {
	// Change is that of the middle round: the median over the rounds of what each changed by. Of runs that were
	// not made in rounds it is the change of the medians. It is NaN where there are no runs on a side, where one
	// is not finite, and where the old median alone is 0.
	Change float64
	// Low and High are its interval of 95 % confidence, infinite with too few runs for one.
	Low, High float64
	// Difference is set where no relative change can be told, and is told in its place: see Relative.
	Difference *Difference
	// Floor is the relative change that this comparison had to exceed: the floor of the machine, or that of its
	// own rounds if they are noisier.
	Floor float64
	// FloorDifference is the floor in the unit of the metric, set within rounds where Difference is.
	FloorDifference float64
	// Rounds is how many rounds were compared, 0 of runs that were not made in rounds.
	Rounds int
	// P is that of the comparison by itself; Adjusted is corrected for all pairs that were compared.
	P, Adjusted float64
	Verdict     Verdict
	// Needed is how many runs on each side would prove such a change in 4 of 5 studies, if it is
	// there: above MostNeeded is not within reach, 0 where it is proven, where runs do not help or
	// nothing can be estimated.
	Needed int

	exceeds bool    // it is above the floor
	noise   float64 // of a difference within a round, in the same parts as effect
	effect  float64 // that is held to the floor: of values above 0 a difference of logarithms
	held    float64 // the floor in the same parts: the larger of the next two
	given   float64 // that of the machine
	own     float64 // that of its rounds
}

// Proven says whether the runs show a change.
func (c Change) Proven() bool { return c.Verdict != CannotTell }

// Exceeds says whether the change is above another floor: as many times more or less.
func (c Change) Exceeds(floor Floor) bool {
	if c.Change > -1 {
		return math.Abs(math.Log1p(c.Change)) > math.Log1p(floor.Change)
	}
	return math.Abs(c.Change) > floor.Change // which NaN is not
}

// Compare judges all pairs together: a change is proven if its p, corrected by Holm's method, is below
// Alpha and the change is above the floor, and above that of its own rounds.
func Compare(pairs []Pair, higherIsBetter bool, floor Floor) []Change {
	return CompareAmong(pairs, len(pairs), higherIsBetter, floor)
}

// CompareAmong is Compare, but for the runs that are needed: they are enough for so many comparisons, if these are more
// than the pairs.
func CompareAmong(pairs []Pair, comparisons int, higherIsBetter bool, floor Floor) []Change {
	comparisons = max(comparisons, len(pairs))
	changes := make([]Change, len(pairs))
	ends := leftOuts{}
	for i, p := range pairs {
		changes[i] = p.change(ends, len(pairs), floor)
	}
	holm(changes)
	fewest := sync.OnceValue(func() int { return Fewest(comparisons) })
	for i, p := range pairs {
		c := &changes[i]
		switch {
		case !(c.Adjusted < Alpha && c.exceeds):
			c.Verdict = CannotTell
			c.Needed = p.needed(*c, comparisons, fewest, floor)
		case c.effect > 0 == higherIsBetter:
			c.Verdict = Better
		default:
			c.Verdict = Worse
		}
	}
	return changes
}

// Reversed is the change from the new runs to the old ones, of the pair in that direction: with the same p and floor,
// and the opposite verdict.
func (c Change) Reversed(pair Pair, floor Floor) Change {
	back := Compare([]Pair{pair}, true, floor)[0]
	back.Adjusted, back.Floor, back.Needed, back.Verdict = c.Adjusted, c.Floor, c.Needed, CannotTell
	switch c.Verdict {
	case Better:
		back.Verdict = Worse
	case Worse:
		back.Verdict = Better
	}
	return back
}

// change is that of a pair by itself.
func (p Pair) change(ends leftOuts, comparisons int, floor Floor) Change {
	if !p.judgeable() {
		return Change{Change: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1, Floor: floor.Change}
	}
	if p.Old.InRounds() && p.New.InRounds() {
		return p.withinRounds(comparisons, floor)
	}
	return p.apart(ends, floor)
}

// apart is the change of runs that were not made in rounds.
func (p Pair) apart(ends leftOuts, floor Floor) Change {
	old, new := p.Old.Values, p.New.Values
	c := Change{Change: relative(numeral.Median(old), numeral.Median(new)), P: p.mannWhitney(), Floor: floor.Change}
	c.Low, c.High = p.interval(ends)
	// It is about shifts, and the medians of few runs may differ by more than most pairs of runs do.
	if !math.IsNaN(c.Change) {
		c.Low, c.High = min(c.Low, c.Change), max(c.High, c.Change)
	}
	c.effect, c.given = c.Change, floor.Change
	if c.Change > -1 && slices.Min(old) > 0 {
		c.effect, c.given = math.Log1p(c.Change), math.Log1p(floor.Change)
	}
	c.held = c.given
	c.exceeds = math.Abs(c.effect) > c.held // which NaN does not
	if !p.isRelative(c) {
		d := p.difference(ends)
		c.Difference = &d
	}
	return c
}

func (p Pair) judgeable() bool {
	return len(p.Old.Values) > 0 && len(p.New.Values) > 0 && numeral.Finite(p.Old.Values...) &&
		numeral.Finite(p.New.Values...)
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
