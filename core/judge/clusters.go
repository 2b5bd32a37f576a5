package judge

import (
	"fmt"
	"math"
	"slices"
)

// RunWarnings says in words what the runs of a cell, in any order, leave to be wished. Of plain normal
// noise at most 1 % of cells are warned of for more than too few runs.
func RunWarnings(runs []float64) []string {
	var warnings []string
	switch n := len(runs); {
	case n == 0:
		return nil
	case !finite(runs):
		return []string{"a run has no finite value, so the median of the runs means nothing"}
	case n < IntervalRuns:
		return []string{fmt.Sprintf("too few runs: %d, but the median has a confidence interval from %d on", n, IntervalRuns)}
	}
	sorted := slices.Sorted(slices.Values(runs))
	if at, separation := separate(sorted, max(2, (len(sorted)+4)/5)); separation > apart(len(sorted)) {
		low, high := median(sorted[:at]), median(sorted[at:])
		warnings = append(warnings, fmt.Sprintf("the runs are in two clusters: %d around %.4g and %d around %.4g%s, so their median may be of neither",
			at, low, len(sorted)-at, high, percent(low, high)))
	}
	return warnings
}

// apart is how many standard deviations of a cluster the gap between two clusters has at least. Simulated
// for 6 to 200 runs of normal noise, of which 1 % at most have such a gap.
func apart(runs int) float64 { return max(3, 45/float64(runs)) }

// separate finds where values in ascending order fall into two clusters of at least so many each: below
// index at, and how wide the gap there is, in standard deviations within the clusters.
func separate(sorted []float64, least int) (at int, separation float64) {
	for i := least; i <= len(sorted)-least; i++ {
		gap := sorted[i] - sorted[i-1]
		within := math.Sqrt((squares(sorted[:i]) + squares(sorted[i:])) / float64(len(sorted)-2))
		if gap > separation*within {
			at, separation = i, gap/within
		}
	}
	return at, separation
}

// squares is the sum of squared deviations from the mean.
func squares(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// percent is the relative change from one value to another in brackets, nothing if there is none to tell.
func percent(from, to float64) string {
	change, ok := Relative(from, to)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*change)
}
