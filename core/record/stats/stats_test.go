package stats

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSummarize(t *testing.T) {
	twenty := make([]float64, 20)
	for i := range twenty {
		twenty[i] = float64(20 - i)
	}
	// The expected values come from Python's statistics module. The expected quantiles are sorted(x)[ceil(p*n)-1].
	tests := []struct {
		name string
		ms   []float64
		want Summary
	}{
		{"none", nil, Summary{}},
		{"one", []float64{2.5}, Summary{Count: 1, Min: 2.5, P50: 2.5, Mean: 2.5, P95: 2.5, P99: 2.5, Max: 2.5}},
		{"two", []float64{3, 1}, Summary{2, 1, 1, 2, 3, 3, 3, 2, math.Sqrt2}},
		{"eight", []float64{2, 4, 4, 4, 5, 5, 7, 9}, Summary{8, 2, 4, 5, 9, 9, 9, 32. / 7, math.Sqrt(32. / 7)}},
		{"twenty", twenty, Summary{20, 1, 10, 10.5, 19, 20, 20, 35, math.Sqrt(35)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Summarize(test.ms); got != test.want {
				t.Errorf("Summarize(%v) = %+v, want %+v", test.ms, got, test.want)
			}
		})
	}
}

func TestEqualSamplesHaveTheirValueAsMean(t *testing.T) {
	for _, n := range []int{3, 10, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if s := Summarize(slices.Repeat([]float64{0.1}, n)); s.Mean != 0.1 || s.Min != s.Max {
				t.Errorf("%d samples of 0.1: %+v", n, s)
			}
		})
	}
}

func TestSummarizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Float64Range(0, 1e7), 1, 300).Draw(t, "ms")
		given := slices.Clone(ms)
		s := Summarize(ms)

		if !slices.Equal(ms, given) {
			t.Fatal("the samples were reordered or changed")
		}
		if s.Count != len(ms) || s.Min != slices.Min(ms) || s.Max != slices.Max(ms) {
			t.Fatalf("count, min or max of %v: %+v", ms, s)
		}
		if !(s.Min <= s.P50 && s.P50 <= s.P95 && s.P95 <= s.P99 && s.P99 <= s.Max) {
			t.Fatalf("quantiles out of order: %+v", s)
		}
		if s.Mean < s.Min || s.Mean > s.Max {
			t.Fatalf("the mean is outside the samples: %+v", s)
		}
		if !slices.Contains(ms, s.P50) || !slices.Contains(ms, s.P95) || !slices.Contains(ms, s.P99) {
			t.Fatalf("a quantile was never measured: %+v", s)
		}
		if s.Variance < 0 || math.IsNaN(s.Stdev) || s.Stdev != math.Sqrt(s.Variance) {
			t.Fatalf("spread: %+v", s)
		}

		seed := rapid.Int64().Draw(t, "seed")
		rand.New(rand.NewSource(seed)).Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		if shuffled := Summarize(ms); shuffled != s {
			t.Fatalf("another order gives %+v instead of %+v", shuffled, s)
		}
	})
}

// The expected values come from numpy.percentile.
func TestPercentiles(t *testing.T) {
	ps := []float64{0, 50, 75, 90, 95, 100}
	for name, test := range map[string]struct{ values, want []float64 }{
		"none":  {nil, []float64{0, 0, 0, 0, 0, 0}},
		"one":   {[]float64{2.5}, []float64{2.5, 2.5, 2.5, 2.5, 2.5, 2.5}},
		"two":   {[]float64{3, 1}, []float64{1, 2, 2.5, 2.8, 2.9, 3}},
		"eight": {[]float64{9, 2, 4, 5, 4, 5, 7, 4}, []float64{2, 4.5, 5.5, 7.6, 8.3, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Percentiles(test.values, ps...)
			for i := range got {
				if math.Abs(got[i]-test.want[i]) > 1e-12 {
					t.Errorf("%s: percentile %v is %v, want %v", name, ps[i], got[i], test.want[i])
				}
			}
		})
	}
}

func TestPercentilesLieBetweenNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "values")
		p := rapid.Float64Range(0, 100).Draw(t, "p")
		before := slices.Clone(values)
		got := Percentiles(values, p)[0]
		if !slices.Equal(before, values) {
			t.Fatal("the values were reordered")
		}
		below, above := 0.0, 0.0 // number of values that are at most, or at least, the percentile
		for _, v := range values {
			if v <= got+1e-9 {
				below++
			}
			if v >= got-1e-9 {
				above++
			}
		}
		last := float64(len(values) - 1)
		if below < math.Floor(last*p/100)+1 || above < last-math.Ceil(last*p/100)+1 {
			t.Errorf("percentile %v of %v is %v", p, values, got)
		}
	})
}
