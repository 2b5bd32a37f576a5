package metric

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyBounds draws ascending bounds.
func anyBounds(t *rapid.T) []float64 {
	bounds := rapid.SliceOfNDistinct(rapid.Float64Range(-100, 100), 1, 8,
		func(x float64) float64 { return x + 0 }).Draw(t, "bounds")
	slices.Sort(bounds)
	return bounds
}

// count compares each value with all bounds, as a simple reference.
func count(bounds, values []float64) Histogram {
	h := NewHistogram(bounds)
	for _, x := range values {
		switch {
		case math.IsNaN(x):
			h.NaN++
		case x > bounds[len(bounds)-1]:
			h.Counts[len(bounds)]++
		default:
			h.Counts[slices.IndexFunc(bounds, func(b float64) bool { return x <= b })]++
		}
	}
	return h
}

var values = rapid.SliceOf(rapid.OneOf(rapid.Float64Range(-120, 120),
	rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1)})))

// A value is counted in the bucket whose upper bound is the first one not below it. Counting in several histograms
// and merging them, in any order, gives the same counts. Quantiles match the buckets of the sorted values.
func TestMerging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := anyBounds(t)
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		if len(bounds) > 1 {
			a = append(a, bounds[1])
		}
		whole := NewHistogram(bounds)
		for _, x := range slices.Concat(a, b) {
			if math.IsNaN(x) {
				whole.NaN++
			} else {
				whole.Counts[whole.Bucket(x)]++
			}
		}
		first, second := count(bounds, a), count(bounds, b)
		ab, ba := first.Clone(), second.Clone()
		ab.Merge(&second)
		ba.Merge(&first)
		if d := cmp.Diff(whole, ab) + cmp.Diff(whole, ba); d != "" {
			t.Fatal(d)
		}
		if err := ab.Check(); err != nil || len(a) > 0 && &ab.Counts[0] == &first.Counts[0] {
			t.Fatal(err)
		}
		sorted := slices.DeleteFunc(slices.Concat(a, b), math.IsNaN)
		slices.Sort(sorted)
		p := rapid.Float64Range(0.001, 1).Draw(t, "p")
		want := -1
		if n := len(sorted); n > 0 {
			want = whole.Bucket(sorted[int(math.Ceil(p*float64(n)))-1])
		}
		if got := whole.Quantile(p); got != want || whole.Total() != int64(len(sorted)) {
			t.Fatalf("quantile %g of %v is in bucket %d, want %d", p, sorted, got, want)
		}
	})
}

func TestHistogramsThatCannotBe(t *testing.T) {
	for want, h := range map[string]Histogram{
		"it has 0 bounds, but must have 1 to 1000":                        {Counts: []int64{0}},
		"it has 1001 bounds, but must have 1 to 1000":                     NewHistogram(make([]float64, 1001)),
		"bound 1 is 1, but bounds must ascend and the one before it is 2": NewHistogram([]float64{2, 1}),
		"bound 0 is -Inf, but must be finite": NewHistogram([]float64{math.Inf(-1),
			1}),
		"it has 2 counts, but 2 bounds make 3 buckets": {Bounds: []float64{1, 2},
			Counts: []int64{1, 2}},
		"count 1: -1 must be from 0 to 2^53": {Bounds: []float64{1},
			Counts: []int64{1, -1}},
		"count 2: 9007199254740993 must be from 0 to 2^53": {Bounds: []float64{1},
			Counts: []int64{0, 0}, NaN: MostCount + 1},
		"count 1: the sum of all must be at most 2^53": {Bounds: []float64{1},
			Counts: []int64{MostCount, MostCount}},
		"bound 1 is 0, but bounds must ascend and the one before it is 0": NewHistogram([]float64{0, 0}),
		"bound 1 is 0, but bounds must ascend and the one before it is -0": NewHistogram([]float64{math.Copysign(0, -1),
			0}),
		fmt.Sprintf("count 0: %d must be from 0 to 2^53", int64(math.MinInt64)): {Bounds: []float64{1},
			Counts: []int64{math.MinInt64, 0}},
	} {
		t.Run(want, func(t *testing.T) {
			if err := h.Check(); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	h := Histogram{Bounds: []float64{1}, Counts: []int64{MostCount, 0}}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}
