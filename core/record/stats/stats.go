// Package stats sums samples up. Only Consume reorders the samples it is given:
// their order is time, which shows drift.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary describes the durations of one metric, or other numbers. All values are in their
// unit, the variance in its square. The zero Summary is that of no samples.
type Summary struct {
	Count int
	Min   float64
	// P50, P95 and P99 are empirical quantiles: of n samples in ascending order,
	// quantile p is number ceil(p*n), counted from 1. It is always a value that
	// was measured, never one in between.
	P50, Mean, P95, P99, Max float64
	// Variance is the sample variance, which divides by n-1, and Stdev its
	// square root. Both are 0 with fewer than two samples, where neither is
	// defined: see HasSpread.
	Variance, Stdev float64
}

// HasSpread says whether there were enough samples for Variance and Stdev to
// mean something.
func (s Summary) HasSpread() bool { return s.Count >= 2 }

// Summarize sums up finite durations in one unit, in any order. The result depends
// on the values alone, to the last bit.
func Summarize(durations []float64) Summary { return Consume(slices.Clone(durations)) }

// Consume is Summarize of durations that nobody needs in their order any more: it sorts them
// where they are, and takes no memory beside them.
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
	// The rounding of the sum can push the mean of near-equal values past them.
	s.Mean = min(max(mean, s.Min), s.Max)
	if s.HasSpread() {
		s.Variance, s.Stdev = variance, math.Sqrt(variance)
	}
	return s
}

// Median is that of values in any order: of an even count the mean of the two in the middle, which is infinite where
// one of them is. Without values it is NaN.
func Median(values []float64) float64 { return MedianSorted(slices.Sorted(slices.Values(values))) }

// MedianSorted is Median of values in ascending order.
func MedianSorted(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Finite says whether all values are numbers and none is infinite.
func Finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Percentiles are the p-th percentiles of some finite values in any order, for each p
// from 0 to 100, with linear interpolation: of n values in ascending order, counted
// from 0, percentile p lies at place (n-1)*p/100, between two values where that is no
// whole number. That is what NumPy's percentile does by default. Without values all
// are 0.
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
