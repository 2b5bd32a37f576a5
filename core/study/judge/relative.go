package judge

import (
	"math"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
)

// mostRatio is the largest ratio of two values for which a change is given as a percentage. Beyond this ratio the first
// value is nearly 0, and a difference is clearer.
const mostRatio = 100

// Relative returns the change between two values as a share of the first. ok is false if a percentage means nothing:
// the first value is not above 0, or nearly 0 compared with the second; the second is below 0; or one is not finite. If
// ok, the change lies between -1 and 99.
func Relative(from, to float64) (change float64, ok bool) {
	if !(from > 0 && to >= 0 && to/from <= mostRatio) || math.IsInf(from, 1) { // NaN fails this too
		return math.NaN(), false
	}
	return to/from - 1, true
}

// Difference is a change in the unit of the runs. Low and High bound its 95 % confidence interval; they are infinite
// if there are too few runs.
type Difference struct{ Change, Low, High float64 }

// isRelative reports whether a percentage of the old runs describes the change well.
func (p Pair) isRelative(c Change) bool {
	if slices.Min(p.Old.Values) <= 0 || slices.Min(p.New.Values) < 0 {
		return false
	}
	_, ok := Relative(numeral.Median(p.Old.Values), numeral.Median(p.New.Values))
	return ok && (math.IsInf(c.High, 1) || c.High <= mostRatio-1)
}

// difference returns the change of the pair in the metric's unit, with the Hodges-Lehmann interval.
func (p Pair) difference(ends leftOuts) Difference {
	d := Difference{Change: numeral.Median(p.New.Values) - numeral.Median(p.Old.Values), Low: math.Inf(-1),
		High: math.Inf(1)}
	if out := ends.of(len(p.Old.Values), len(p.New.Values)); out >= 0 {
		all := p.between(func(old, new float64) float64 { return new - old })
		d.Low, d.High = min(all[out], d.Change), max(all[len(all)-1-out], d.Change)
	}
	return d
}
