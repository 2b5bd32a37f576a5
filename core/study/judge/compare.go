package judge

import (
	"math"
	"slices"
	"sync"

	"github.com/psbench/psbench/internal/numeral"
)

// Verdict is the outcome of a comparison.
type Verdict string

// Better and Worse are proven changes.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	CannotTell Verdict = "cannot tell"
)

// Runs holds one value for each run of a cell, in any order.
type Runs struct {
	Values []float64
	// Rounds holds the round in which each value was measured. It is nil if the runs were not made in rounds.
	Rounds []int
}

// Apart returns the values as runs that were not made in rounds.
func Apart(values []float64) Runs { return Runs{Values: values} }

// InRounds reports whether the values were measured in rounds.
func (r Runs) InRounds() bool { return r.Rounds != nil }

// And joins the runs of two cells that ran the same experiment. The result is in rounds only if both r and other are.
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

// Pair holds the old and the new runs of one comparison. Each round that both sides have forms a block.
type Pair struct{ Old, New Runs }

// Change is the judged change from old runs to new ones. Changes and floors are relative unless their comment names a
// unit: 0.05 is 5 % more.
type Change struct {
	// Change is the median of the changes of all rounds. Without rounds it is the change between the two medians. It is
	// NaN if a side has no runs, if a value is not finite, or if only the old median is 0.
	Change float64
	// Low and High bound the 95 % confidence interval of Change. They are infinite if there are too few runs.
	Low, High float64
	// Difference is the change in the metric's unit. It is set only if a relative change means nothing; see Relative.
	Difference *Difference
	// Floor is the relative change that this comparison had to exceed: the machine's floor or, if higher, the floor of
	// the comparison's own rounds.
	Floor float64
	// FloorDifference is the floor in the metric's unit. Comparisons within rounds set it whenever they set Difference.
	FloorDifference float64
	// Rounds is the number of rounds that were compared, or 0 if the runs were not made in rounds.
	Rounds int
	// P is the p-value of this comparison alone. Adjusted is P after the correction for all pairs that were compared
	// together.
	P, Adjusted float64
	Verdict     Verdict
	// Needed is the number of runs on each side that would prove a change of this size in 4 of 5 studies, if the change
	// is real. A number above MostNeeded is out of reach. Needed is 0 if the change is proven, if more runs would not
	// help, or if the runs allow no estimate.
	Needed int

	exceeds bool    // the change is above the floor
	noise   float64 // standard deviation of the differences within rounds, on the scale of effect
	// effect is the change that is compared with the floor. It is a difference of logarithms if all values are above 0.
	effect float64
	held   float64 // floor on the scale of effect: the larger of given and own
	given  float64 // floor of the machine
	own    float64 // floor of the comparison's own rounds
}

// Proven reports whether the runs prove a change.
func (c Change) Proven() bool { return c.Verdict != CannotTell }

// Exceeds reports whether the change is above the given floor. An increase by a factor counts as much as a decrease by
// the same factor.
func (c Change) Exceeds(floor Floor) bool {
	if c.Change > -1 {
		return math.Abs(math.Log1p(c.Change)) > math.Log1p(floor.Change)
	}
	return math.Abs(c.Change) > floor.Change // false for NaN
}

// Compare judges all pairs together. It corrects each p-value by Holm's method. A change is proven if the corrected p
// is below Alpha and if the change exceeds both the given floor and the floor of its own rounds.
func Compare(pairs []Pair, higherIsBetter bool, floor Floor) []Change {
	return CompareAmong(pairs, len(pairs), higherIsBetter, floor)
}

// CompareAmong judges pairs like Compare. If comparisons is larger than the number of pairs, each Needed is estimated
// for that many comparisons.
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

// Reversed returns the change from the new runs to the old ones. The caller passes pair with its sides already swapped.
// Reversed keeps p and the floor, and swaps Better and Worse.
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

// change judges one pair without regard to the others. It sets neither the verdict nor the corrected p.
func (p Pair) change(ends leftOuts, comparisons int, floor Floor) Change {
	if !p.judgeable() {
		return Change{Change: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1, Floor: floor.Change}
	}
	if p.Old.InRounds() && p.New.InRounds() {
		return p.withinRounds(comparisons, floor)
	}
	return p.apart(ends, floor)
}

// apart returns the change between runs that were not made in rounds.
func (p Pair) apart(ends leftOuts, floor Floor) Change {
	old, new := p.Old.Values, p.New.Values
	c := Change{Change: relative(numeral.Median(old), numeral.Median(new)), P: p.mannWhitney(), Floor: floor.Change}
	c.Low, c.High = p.interval(ends)
	// The interval covers the shift between the two sides. With few runs the change of the medians may lie outside it,
	// so the interval is widened.
	if !math.IsNaN(c.Change) {
		c.Low, c.High = min(c.Low, c.Change), max(c.High, c.Change)
	}
	c.effect, c.given = c.Change, floor.Change
	if c.Change > -1 && slices.Min(old) > 0 {
		c.effect, c.given = math.Log1p(c.Change), math.Log1p(floor.Change)
	}
	c.held = c.given
	c.exceeds = math.Abs(c.effect) > c.held // false for NaN
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

// holm sets each Adjusted by Holm's method: the smallest p of m is multiplied by m, the next by m-1, and so on. Each
// adjusted value is at least as large as the previous one.
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
