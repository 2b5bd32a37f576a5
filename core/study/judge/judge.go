// Package judge judges what runs prove. Its unit is the run, which has one value, such as its throughput. All functions
// are pure: they leave their arguments unchanged and draw random numbers only from a seed. docs/statistics.md explains
// the method behind each number.
package judge

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat"

	"github.com/psbench/psbench/internal/numeral"
)

// Alpha is the accepted chance of a false proof over all comparisons of one judgement.
const Alpha = 0.05

// IntervalRuns is the number of runs that a 95 % confidence interval of the median needs.
const IntervalRuns = 6

// Estimate is the value of a cell as estimated from its runs.
type Estimate struct {
	N      int
	Median float64
	// Low and High bound the confidence interval of the median. Both are Median if there is no interval.
	Low, High float64
	// Confidence is the confidence level of the interval: 0.95 or slightly more, or 0 if there is no interval.
	Confidence float64
	// Spread is the sample standard deviation of all runs divided by the median. It is 0 for fewer than two runs and
	// for a median of 0.
	Spread float64
	// Deviation is the sample standard deviation in the unit of the runs.
	Deviation float64
	// HasInterval is true for at least IntervalRuns runs.
	HasInterval bool
}

// Of estimates the value of a cell from its runs, in any order. The median is NaN if there are no runs or if a value
// is not finite.
func Of(runs []float64) Estimate {
	e := Estimate{N: len(runs), Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if e.N == 0 || !numeral.Finite(runs...) {
		return e
	}
	s := benchmath.AssumeNothing.Summary(sample(runs), 1-Alpha)
	e.Median, e.Low, e.High = s.Center, s.Center, s.Center
	if e.N >= 2 {
		e.Deviation = stat.StdDev(runs, nil)
	}
	if e.N >= 2 && s.Center != 0 {
		e.Spread = e.Deviation / math.Abs(s.Center)
	}
	if numeral.Finite(s.Lo, s.Hi) {
		e.Low, e.High, e.Confidence, e.HasInterval = s.Lo, s.Hi, s.Confidence, true
	}
	return e
}

// SpreadIsShare reports whether the relative spread is meaningful: the median is above 0 and at least as large as the
// standard deviation.
func (e Estimate) SpreadIsShare() bool { return e.Median > 0 && e.Spread <= 1 }

// PercentileSamples returns the number of samples that percentile p, from 0 to 100, needs. On average at least one
// sample then lies beyond the percentile. p99 needs 100 samples and p95 needs 20.
func PercentileSamples(p float64) int {
	beyond := min(p, 100-p) / 100
	if beyond <= 0 {
		return math.MaxInt // no number of samples reaches the extremes of a distribution
	}
	return int(math.Ceil(1/beyond - 1e-9))
}

// Percentile returns the p-th percentile of values, in any order: the smallest value that is at least as large as p
// percent of them. It returns 0 and false if a value is not finite or if there are fewer than PercentileSamples values.
func Percentile(values []float64, p float64) (value float64, ok bool) {
	if len(values) < PercentileSamples(p) || !numeral.Finite(values...) {
		return 0, false
	}
	return stat.Quantile(p/100, stat.Empirical, slices.Sorted(slices.Values(values)), nil), true
}

// sample copies the values, because benchmath sorts its argument.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// relative returns the change between two values as a share of the first. It is 0 if both are 0, and NaN if only the
// first is 0.
func relative(from, to float64) float64 {
	if from == to {
		return 0
	}
	if from == 0 {
		return math.NaN()
	}
	return (to - from) / math.Abs(from)
}
