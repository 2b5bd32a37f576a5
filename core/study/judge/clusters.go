package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// RunWarnings returns warnings about the runs of a cell, given in any order. It warns of too few runs, of a value that
// is not finite, and of two clusters. About 1 % of cells with plain noise (normal, lognormal or exponential) get a
// false warning of two clusters.
func RunWarnings(runs []float64) []string {
	var warnings []string
	n := len(runs)
	if n == 0 {
		return nil
	}
	if !numeral.Finite(runs...) {
		return []string{"a run has no finite value, so the median of the runs means nothing"}
	}
	if n < IntervalRuns {
		warnings = append(warnings,
			fmt.Sprintf("too few runs: %d, but the median has a confidence interval from %d on", n, IntervalRuns))
	}
	sorted := slices.Sorted(slices.Values(runs))
	if at, evidence := separate(sorted); evidence > apart(n) {
		low, high := numeral.MedianSorted(sorted[:at]), numeral.MedianSorted(sorted[at:])
		warnings = append(warnings,
			fmt.Sprintf(
				"the runs are in two clusters: %d around %s and %d around %s%s, so their median may be of neither",
				at, screen.Number(low), n-at, screen.Number(high), percent(low, high)))
	}
	return warnings
}

// apart returns the evidence above which RunWarnings reports two clusters. About 1 % of simulated cells of 4 to 200
// runs with normal, lognormal or exponential noise exceed this threshold.
func apart(runs int) float64 { return 3 + 20/float64(runs) }

// evenly is the weight of the smaller cluster's share of the values in the evidence for two clusters. Noise with a long
// tail puts few runs into the smaller cluster, so its evidence rises little.
const evenly = 6

// separate splits values in ascending order into two clusters; the second one begins at index at. Each cluster has at
// least two values and at least a fifth of all values. The evidence is a logarithm: how much more likely two clusters
// of equal spread are than noise around one value. The evidence is -Inf if no split is possible. If all values are
// above 0, separate compares them by ratios, otherwise by differences.
func separate(sorted []float64) (at int, evidence float64) {
	n := len(sorted)
	evidence = math.Inf(-1)
	if sorted[0] == sorted[n-1] {
		return 0, evidence
	}
	values, ratios := sorted, sorted[0] > 0
	if ratios {
		values = logarithms(sorted)
	}
	mean, total := moments(values)
	noise := noiseLikelihood(values, ratios)
	least := max(2, (n+4)/5)
	below := 0.0 // sum of the deviations of the first i values from the mean
	for i := 1; i <= n-least; i++ {
		below += values[i-1] - mean
		if i < least {
			continue
		}
		share := float64(i) / float64(n)
		within := max(0, total-below*below*float64(n)/float64(i*(n-i)))
		clusters := normalLikelihood(n, within) + float64(n)*(share*math.Log(share)+(1-share)*math.Log(1-share))
		if e := clusters - noise + evenly*min(share, 1-share); e > evidence {
			at, evidence = i, e
		}
	}
	return at, evidence
}

// noiseLikelihood returns the largest log-likelihood of values, in ascending order, under several kinds of noise. It
// tries normal noise, exponential noise to either side, and uniform noise, as from a machine that drifts. If the values
// are logarithms, noiseLikelihood also tries normal and exponential noise of the original values.
func noiseLikelihood(values []float64, logs bool) float64 {
	n := float64(len(values))
	low, high := values[0], values[len(values)-1]
	mean, total := moments(values)
	likely := -n * math.Log(high-low)
	best := func(low, mean, high, total, more float64) {
		for _, l := range []float64{normalLikelihood(len(values), total), -n * (1 + math.Log(mean-low)),
			-n * (1 + math.Log(high-mean))} {
			likely = max(likely, l+more)
		}
	}
	best(low, mean, high, total, 0)
	if logs {
		ratios, sum := make([]float64, len(values)), 0.0 // relative to the highest value, so that exp does not overflow
		for i, v := range values {
			ratios[i] = math.Exp(v - high)
			sum += v - high
		}
		mean, total := moments(ratios)
		best(ratios[0], mean, 1, total, sum)
	}
	return likely
}

// normalLikelihood returns the log-likelihood of n values under normal noise. squares is the sum of their squared
// deviations.
func normalLikelihood(n int, squares float64) float64 {
	return -float64(n) / 2 * (1 + math.Log(2*math.Pi*squares/float64(n)))
}

// moments returns the mean of values and the sum of their squared deviations from the mean.
func moments(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}

func logarithms(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	return logs
}

// percent formats the relative change between two values in brackets. It returns "" if Relative gives no percentage.
func percent(from, to float64) string {
	change, ok := Relative(from, to)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*change)
}
