// Package judge says what runs prove. The unit is the run: a value each, such as its throughput.
// All functions are pure: they keep their arguments as they are, and what is random in them comes of
// a seed. docs/statistics.md says what stands behind each number.
package judge

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat"

	"github.com/psbench/psbench/internal/numeral"
)

// Alpha is the chance of a false proof that comparisons may have, all together.
const Alpha = 0.05

// IntervalRuns is how many runs the median needs for an interval of 95 % confidence.
const IntervalRuns = 6

// Estimate is what the runs of a cell say of its value.
type Estimate struct {
	N      int
	Median float64
	// Low and High are the confidence interval of the median; they are the Median where there is none.
	Low, High float64
	// Confidence is that of the interval, 0.95 or a bit more; 0 without one.
	Confidence float64
	// Spread is the sample standard deviation, of all runs, relative to the median: 0 below two runs
	// and where the median is 0.
	Spread float64
	// Deviation is the same in the unit of the runs.
	Deviation float64
	// HasInterval is true from IntervalRuns runs on.
	HasInterval bool
}

// Of estimates the value of a cell from its runs, in any order. Without runs, or where one is not
// finite, the median is NaN.
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

// SpreadIsShare says whether the spread tells anything: whether the median is above 0, and above the standard
// deviation.
func (e Estimate) SpreadIsShare() bool { return e.Median > 0 && e.Spread <= 1 }

// PercentileSamples is how many samples percentile p, from 0 to 100, needs: so many that one lies
// beyond it on average, which is 100 for p99 and 20 for p95.
func PercentileSamples(p float64) int {
	beyond := min(p, 100-p) / 100
	if beyond <= 0 {
		return math.MaxInt // the least and the largest value of what could be are never seen
	}
	return int(math.Ceil(1/beyond - 1e-9))
}

// Percentile is the smallest of the values that p percent of them, in any order, do not exceed. It is
// not ok, and 0, with fewer than PercentileSamples.
func Percentile(values []float64, p float64) (value float64, ok bool) {
	if len(values) < PercentileSamples(p) || !numeral.Finite(values...) {
		return 0, false
	}
	return stat.Quantile(p/100, stat.Empirical, slices.Sorted(slices.Values(values)), nil), true
}

// sample is a copy of values: benchmath sorts what it is given.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// relative is the change from one value to another in parts of the first. Two zeros are no change;
// from zero to anything else it is NaN.
func relative(from, to float64) float64 {
	if from == to {
		return 0
	}
	if from == 0 {
		return math.NaN()
	}
	return (to - from) / math.Abs(from)
}
