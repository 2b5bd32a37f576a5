package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// RunWarnings says in words what the runs of a cell, in any order, leave to be wished. About 1 % of cells with plain
// noise, normal, lognormal or exponential, are warned of for more than too few runs.
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

// apart is how much evidence two clusters need. About 1 % of simulated cells of 4 to 200 runs with normal, lognormal or
// exponential noise have so much.
func apart(runs int) float64 { return 3 + 20/float64(runs) }

// evenly is the evidence, for each share of the smaller cluster, against noise with a tail, which few runs are in.
const evenly = 6

// separate finds where values in ascending order fall into two clusters of a fifth of them each or more, and of two
// values or more: below index at. The evidence is how much more likely two clusters of equal spread are than noise
// around one value, as a logarithm; it is -Inf where there can be no clusters. Values above 0 are compared by their
// ratios, others by their differences.
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
	below := 0.0 // the sum of what is below i, from the mean
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

// noiseLikelihood is the largest logarithm of the likelihood of values in ascending order as noise: normal,
// exponential to either side, or uniform, as that of a machine that drifts. That of logarithms may be noise of
// what they are of, too.
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
		ratios, sum := make([]float64, len(values)), 0.0 // to the highest, so that none is too large
		for i, v := range values {
			ratios[i] = math.Exp(v - high)
			sum += v - high
		}
		mean, total := moments(ratios)
		best(ratios[0], mean, 1, total, sum)
	}
	return likely
}

// normalLikelihood is the logarithm of the likelihood of normal noise with this sum of squares.
func normalLikelihood(n int, squares float64) float64 {
	return -float64(n) / 2 * (1 + math.Log(2*math.Pi*squares/float64(n)))
}

// moments are the mean and the sum of squared deviations from it.
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

// percent is the relative change from one value to another in brackets, nothing if there is none to tell.
func percent(from, to float64) string {
	change, ok := Relative(from, to)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*change)
}
