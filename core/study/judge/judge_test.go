package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/numeral"
)

// near compares results with expected numbers that are rounded.
var near = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-3, 1e-12), cmpopts.IgnoreUnexported(Change{})}

// normal returns n values around 100 with noise of 1 %.
func normal(random *rand.Rand, n int) []float64 { return around(random, n, 100, 0.01) }

func around(random *rand.Rand, n int, center, deviation float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = center * (1 + deviation*random.NormFloat64())
	}
	return values
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// fewer returns the number of cases to draw: all, or few with -short.
func fewer(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}

func TestOf(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		runs []float64
		want Estimate
	}{
		"no runs": {nil, Estimate{0, nan, nan, nan, 0, 0, 0, false}},
		"one":     {[]float64{7}, Estimate{1, 7, 7, 7, 0, 0, 0, false}},
		"two":     {[]float64{9, 11}, Estimate{2, 10, 10, 10, 0, 0.14142, 1.41421, false}},
		"five":    {[]float64{5, 1, 4, 2, 3}, Estimate{5, 3, 3, 3, 0, 0.52705, 1.58114, false}},
		"six":     {[]float64{6, 1, 5, 2, 4, 3}, Estimate{6, 3.5, 1, 6, 0.96875, 0.53452, 1.87083, true}},
		"ten": {[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
			Estimate{10, 5.5, 2, 9, 0.97852, 0.55048, 3.02765, true}},
		"of nothing":  {[]float64{0, 0, 0}, Estimate{3, 0, 0, 0, 0, 0, 0, false}},
		"below zero":  {[]float64{-9, -11}, Estimate{2, -10, -10, -10, 0, 0.14142, 1.41421, false}},
		"no number":   {[]float64{1, nan, 3}, Estimate{3, nan, nan, nan, 0, 0, 0, false}},
		"no end":      {[]float64{1, math.Inf(1), 3}, Estimate{3, nan, nan, nan, 0, 0, 0, false}},
		"an outlier":  {[]float64{1, 1, 1, 1, 1, 101}, Estimate{6, 1, 1, 101, 0.96875, 40.82483, 40.82483, true}},
		"all as high": {[]float64{2, 2, 2, 2, 2, 2}, Estimate{6, 2, 2, 2, 0.96875, 0, 0, true}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.runs)
			if d := cmp.Diff(c.want, Of(c.runs), near); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if d := cmp.Diff(before, c.runs, near); d != "" {
				t.Errorf("%s: the runs are other ones now: %s", name, d)
			}
		})
	}
}

// The interval of the median covers the true median as often as it claims.
func TestIntervalHolds(t *testing.T) {
	random := seeded(1)
	for _, n := range []int{6, 10, 25, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			held, cases := 0, 4000
			for range cases {
				if e := Of(normal(random, n)); e.Low <= 100 && 100 <= e.High {
					held++
				}
			}
			if share := float64(held) / float64(cases); share < 0.94 {
				t.Errorf("of %d runs %.3f of the intervals hold the median", n, share)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	for _, c := range []struct {
		n    int
		p    float64
		want float64
		ok   bool
	}{
		{100, 99, 99, true}, {99, 99, 0, false}, {20, 95, 99, true}, {19, 95, 0, false},
		{100, 1, 1, true}, {99, 1, 0, false}, {2, 50, 99, true}, {1, 50, 0, false},
		{100, 99.9, 0, false}, {100, 100, 0, false}, {100, 0, 0, false}, {0, 50, 0, false},
	} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			if got, ok := Percentile(values[:c.n], c.p); got != c.want || ok != c.ok {
				t.Errorf("p%v of %d samples is %v, %v but should be %v, %v", c.p, c.n, got, ok, c.want, c.ok)
			}
		})
	}
	if values[0] != 100 {
		t.Error("the values are sorted now")
	}
	for p, want := range map[float64]int{50: 2, 90: 10, 95: 20, 99: 100, 99.9: 1000, 5: 20} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			if got := PercentileSamples(p); got != want {
				t.Errorf("p%v needs %d samples but should need %d", p, got, want)
			}
		})
	}
}

func TestFloor(t *testing.T) {
	// Four runs can be split into two pairs in three ways, which are equally likely. The medians are 100 and 102, 101
	// and 101, and again 100 and 102.
	floor, err := FloorOf([]float64{103, 99, 101, 101}, 1)
	if err != nil || floor.Runs != 2 || math.Abs(floor.Change-0.02) > 1e-12 {
		t.Errorf("the floor is %+v, %v", floor, err)
	}
	runs := normal(seeded(2), 21)
	shuffled := slices.Clone(runs)
	slices.Reverse(shuffled)
	a, err := FloorOf(runs, 7)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := FloorOf(shuffled, 7); a != b {
		t.Errorf("in another order the floor is %v, not %v", b, a)
	}
	if b, _ := FloorOf(runs, 8); math.Abs(b.Change/a.Change-1) > 0.1 {
		t.Errorf("with another seed the floor is %v beside %v", b, a)
	}
	for want, runs := range map[string][]float64{
		"the noise floor needs at least 4 runs of the baseline and its A/A cell together, but there are 3": {1, 2, 3},
		"the noise floor needs finite values, but a run of the baseline or its A/A cell has none": {1, 2, 3,
			math.NaN()},
		"the noise floor is relative to the median, but the median of half of the 4 runs of the baseline and its A/A cell may be 0": {0,
			0, 0, 1},
		"the noise floor is relative to the median, but half of the 4 runs of the baseline and its A/A cell may have the median −1.000, and the other half 1.000": {-1,
			-1, 1, 1},
		"the noise floor is relative to the median, but half of the 4 runs of the baseline and its A/A cell may have the median 1.000e−9, and the other half 1.000": {1e-9,
			1e-9, 1, 1},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if _, err := FloorOf(runs, 1); err == nil || err.Error() != want {
				t.Errorf("of %v: %v", runs, err)
			}
		})
	}
}

// If two further cells run the same experiment, the change between their medians stays below the floor in 85 to 95 of
// 100 cases. The share is lower if the floor comes from few runs, because medians of few runs take few values.
func TestFloorHolds(t *testing.T) {
	random := seeded(3)
	for _, n := range []int{5, 10, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			below, cases := 0, fewer(200, 60)
			for range cases {
				floor, err := FloorOf(normal(random, 2*n), 1)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(relative(numeral.Median(normal(random, n)),
					numeral.Median(normal(random, n)))) <= floor.Change {
					below++
				}
			}
			if share := float64(below) / float64(cases); share < 0.76 || share > 0.97 {
				t.Errorf("with %d runs %.3f of the changes are below the floor", n, share)
			}
		})
	}
}

// The floor between sessions holds in 95 of 100 cases, however few sessions there are.
func TestSessionFloorHolds(t *testing.T) {
	random := seeded(4)
	for _, sessions := range []int{2, 5, 20} {
		t.Run(fmt.Sprint(sessions), func(t *testing.T) {
			below, cases := 0, 2000
			for range cases {
				floor, err := SessionFloor(normal(random, sessions))
				if err != nil || floor.Runs != 0 {
					t.Fatal(floor, err)
				}
				more := normal(random, 2)
				if math.Abs(relative(more[0], more[1])) <= floor.Change {
					below++
				}
			}
			if share := float64(below) / float64(cases); math.Abs(share-0.95) > 0.011 {
				t.Errorf("with %d sessions %.3f of the changes are below the floor", sessions, share)
			}
		})
	}
	for want, medians := range map[string][]float64{
		"changes between sessions need at least 2 sessions, but there is 1": {5},
		"changes between sessions are relative to the median, which is 0":   {0, 0},
		"changes between sessions are relative to the median, which is NaN": {5, math.NaN(), math.NaN()},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := SessionFloor(medians); err == nil || err.Error() != want {
				t.Errorf("of %v: %v", medians, err)
			}
		})
	}
}

// FloorOf must take less than 50 ms. With 20 runs it takes about 2 ms.
func BenchmarkFloor(b *testing.B) {
	for b.Loop() {
		if _, err := FloorOf(floorRuns, 1); err != nil {
			b.Fatal(err)
		}
	}
}

var floorRuns = normal(seeded(5), 20)

// Each half holds half of the values in ascending order. Together the halves hold all values.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sorted := slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Float64Range(-9, 9), 2, 30).Draw(t, "values")))
		l, r := split(newStream(rapid.Uint64().Draw(t, "seed")), sorted, nil, nil)
		if len(l) != len(sorted)/2 || !slices.IsSorted(l) || !slices.IsSorted(r) ||
			!slices.Equal(slices.Sorted(slices.Values(slices.Concat(l, r))), sorted) {
			t.Fatalf("%v is split into %v and %v", sorted, l, r)
		}
	})
}
