// Package stats summarizes samples. Samples are in time order, so that drift is visible. Only Consume reorders its
// samples.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary describes the durations of one metric, or other numbers. All values have the unit of the samples; the
// variance has the square of this unit. The zero Summary describes an empty sample.
type Summary struct {
	Count int
	Min   float64
	// P50, P95 and P99 are empirical quantiles: quantile p of n samples is number ceil(p*n) in ascending order, counted
	// from 1. So a quantile is always a measured value.
	P50, Mean, P95, P99, Max float64
	// Variance is the sample variance, which divides by n-1. Stdev is its square root. With fewer than two samples both
	// are undefined and set to 0; see HasSpread.
	Variance, Stdev float64
}

// HasSpread reports whether Variance and Stdev are defined.
func (s Summary) HasSpread() bool { return s.Count >= 2 }

// Summarize summarizes finite durations of one unit. The order of durations has no effect on the result, not even on
// its last bit.
func Summarize(durations []float64) Summary { return Consume(slices.Clone(durations)) }

// Consume does the same as Summarize, but sorts the durations in place and allocates nothing. Use it if their order is
// no longer needed.
func Consume(durations []float64) Summary {
	if len(durations) == 0 {
		return Summary{}
	}
	sorted := durations
	slices.Sort(sorted)

	s := Summary{
		Count: len(sorted),
		Min:   sorted[0],
		P50:   stat.Quantile(0.50, stat.Empirical, sorted, nil),
		P95:   stat.Quantile(0.95, stat.Empirical, sorted, nil),
		P99:   stat.Quantile(0.99, stat.Empirical, sorted, nil),
		Max:   sorted[len(sorted)-1],
	}
	mean, variance := stat.MeanVariance(sorted, nil)
	// Rounding errors in the sum can move the mean of nearly equal values outside their range.
	s.Mean = min(max(mean, s.Min), s.Max)
	if s.HasSpread() {
		s.Variance, s.Stdev = variance, math.Sqrt(variance)
	}
	return s
}

// Percentiles returns the p-th percentile of finite values for each p from 0 to 100. The values may be in any order.
// Percentiles interpolates linearly, as NumPy's percentile does by default: percentile p of n ascending values, counted
// from 0, is at position (n-1)*p/100. Without values all percentiles are 0.
func Percentiles(values []float64, ps ...float64) []float64 {
	out := make([]float64, len(ps))
	if len(values) == 0 {
		return out
	}
	sorted := slices.Sorted(slices.Values(values))
	for i, p := range ps {
		place := float64(len(sorted)-1) * p / 100
		below := int(place)
		above := min(below+1, len(sorted)-1)
		out[i] = sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
	}
	return out
}
