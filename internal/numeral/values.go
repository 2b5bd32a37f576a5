package numeral

import (
	"math"
	"slices"
)

// Finite says whether no value is NaN or infinite.
func Finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Median is the median of values in any order, NaN without values. Of an even count it is the mean of the two in the
// middle, which is infinite where one of them is.
func Median(values []float64) float64 { return MedianSorted(slices.Sorted(slices.Values(values))) }

// MedianSorted is Median of values in ascending order.
func MedianSorted(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
