package judge

import (
	"math"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
)

// mostRatio is how many times the first value the second may be for their change to be a percentage:
// beyond it the first is nearly 0, and a difference says more.
const mostRatio = 100

// Relative is the change from one value to another in parts of the first. It is not ok where no percentage
// tells anything: the first value is not above 0 or nearly 0 beside the second, the second is below 0, or one is
// not finite. So a change that is ok lies between -1 and 99.
func Relative(from, to float64) (change float64, ok bool) {
	if !(from > 0 && to >= 0 && to/from <= mostRatio) || math.IsInf(from, 1) { // NaN is no such
		return math.NaN(), false
	}
	return to/from - 1, true
}

// Difference is what runs changed by, in their unit. Low and High are its interval of 95 % confidence, infinite
// with too few runs for one.
type Difference struct{ Change, Low, High float64 }

// isRelative says whether the change of a pair can be told relative to its old runs.
func (p Pair) isRelative(c Change) bool {
	if slices.Min(p.Old.Values) <= 0 || slices.Min(p.New.Values) < 0 {
		return false
	}
	_, ok := Relative(numeral.Median(p.Old.Values), numeral.Median(p.New.Values))
	return ok && (math.IsInf(c.High, 1) || c.High <= mostRatio-1)
}

// difference is the change of a pair in its unit, with the interval of Hodges and Lehmann.
func (p Pair) difference(ends leftOuts) Difference {
	d := Difference{Change: numeral.Median(p.New.Values) - numeral.Median(p.Old.Values), Low: math.Inf(-1),
		High: math.Inf(1)}
	if out := ends.of(len(p.Old.Values), len(p.New.Values)); out >= 0 {
		all := p.between(func(old, new float64) float64 { return new - old })
		d.Low, d.High = min(all[out], d.Change), max(all[len(all)-1-out], d.Change)
	}
	return d
}
