package numeral

import (
	"math"
	"slices"
)

// Finite reports whether no value is NaN or infinite.
func Finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Median returns the median of values in any order, or NaN if there are no values. For an even count, it is the
// mean of the two middle values, which is infinite if one of them is infinite.
func Median(values []float64) float64 { return MedianSorted(slices.Sorted(slices.Values(values))) }

// MedianSorted does the same as Median for values in ascending order.
func MedianSorted(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
