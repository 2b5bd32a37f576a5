// Package stats summarizes samples. Only Consume reorders its samples: elsewhere their order is time, which shows
// drift.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Summary describes the durations of one metric, or other numbers. All values have the unit of the samples, the
// variance its square. The zero Summary describes an empty sample.
type Summary struct {
	Count int
	Min   float64
	// P50, P95 and P99 are empirical quantiles: quantile p of n samples is number ceil(p*n) in ascending order,
	// counted from 1. It is always a measured value.
	P50, Mean, P95, P99, Max float64
	// Variance is the sample variance, which divides by n-1, and Stdev its square root. With fewer than two samples
	// both are undefined and 0; see HasSpread.
	Variance, Stdev float64
}

// HasSpread reports whether Variance and Stdev are defined.
func (s Summary) HasSpread() bool { return s.Count >= 2 }

// Summarize summarizes finite durations of one unit, in any order. The result depends on the values alone, to the
// last bit.
func Summarize(durations []float64) Summary { return Consume(slices.Clone(durations)) }

// Consume is Summarize for durations whose order is no longer needed: it sorts them in place and allocates nothing.
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
	// Rounding of the sum can push the mean of near-equal values past them.
	s.Mean = min(max(mean, s.Min), s.Max)
	if s.HasSpread() {
		s.Variance, s.Stdev = variance, math.Sqrt(variance)
	}
	return s
}

// Percentiles returns the p-th percentile of finite values in any order, for each p from 0 to 100. It interpolates
// linearly, like NumPy's percentile by default: percentile p of n ascending values, counted from 0, is at place
// (n-1)*p/100. Without values all percentiles are 0.
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
