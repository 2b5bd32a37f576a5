package judge

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/splitmix"
)

func newStream(seed uint64) *splitmix.Stream { return splitmix.New(seed, 0) }

// ten returns ten values that begin with from and rise in steps of 0.1.
func ten(from float64) []float64 {
	runs := make([]float64, 10)
	for i := range runs {
		runs[i] = from + float64(i)/10
	}
	return runs
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		old, new []float64
		floor    Floor
		want     Change
	}{
		"more": {ten(100), ten(110), Floor{0.01, 10},
			Change{Change: 0.09955, Low: 0.09633, High: 0.10279, P: 1.0825e-5, Adjusted: 1.0825e-5, Verdict: Better}},
		"less": {ten(110), ten(100), Floor{0.01, 10},
			Change{Change: -0.09054, Low: -0.09321, High: -0.08786, P: 1.0825e-5, Adjusted: 1.0825e-5, Verdict: Worse}},
		"the same": {ten(100), ten(100), Floor{0.01, 10},
			Change{Low: -0.0029851, High: 0.0029940, P: 1, Adjusted: 1, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"below the floor": {ten(100), ten(101), Floor{0.02, 10},
			Change{Change: 0.00996, Low: 0.0069513, High: 0.0129741, P: 1.0825e-5, Adjusted: 1.0825e-5,
				Verdict: CannotTell, Needed: 82}},
		"below a fixed floor": {ten(100), ten(101), Floor{0.02, 0},
			Change{Change: 0.00996, Low: 0.0069513, High: 0.0129741, P: 1.0825e-5, Adjusted: 1.0825e-5,
				Verdict: CannotTell}},
		"too few": {ten(100)[:3], ten(110)[:3], Floor{0.01, 10},
			Change{Change: 0.0999, Low: -inf, High: inf, P: 0.1, Adjusted: 0.1, Verdict: CannotTell, Needed: 4}},
		"all equal": {[]float64{5, 5, 5}, []float64{5, 5, 5}, Floor{0.01, 10},
			Change{Low: -inf, High: inf, P: 1, Adjusted: 1, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"from nothing": {make([]float64, 6), ten(1)[:6], Floor{0.01, 10},
			Change{Change: nan, Low: -inf, High: inf, Difference: &Difference{1.25, 1, 1.5}, P: 0.0021645,
				Adjusted: 0.0021645, Verdict: CannotTell}},
		"below zero": {[]float64{-6, -5, -4, -3, -2, -1}, []float64{1, 2, 3, 4, 5, 6}, Floor{0.01, 3},
			Change{Change: 2, Low: 1.14286, High: 2.85714, Difference: &Difference{7, 4, 10}, P: 0.0021645,
				Adjusted: 0.0021645, Verdict: Better}},
		"from next to nothing": {ten(1e-6)[:3], ten(200)[:3], Floor{0.01, 3}, Change{Change: 1998.98, Low: -inf,
			High: inf, Difference: &Difference{200, -inf, inf}, P: 0.1, Adjusted: 0.1, Verdict: CannotTell, Needed: 4}},
		"a run below zero": {[]float64{-1, 2, 2.1, 2.2}, []float64{2, 2.05, 2.1, 2.2}, Floor{0.5, 2},
			Change{Change: 0.0121951, Low: -0.09756, High: 1.56098, Difference: &Difference{0.025, -0.2, 3.2},
				P: 0.8285714, Adjusted: 0.8285714, Verdict: CannotTell, Needed: MostNeeded + 1}},
		"nothing old": {nil, ten(1), Floor{0.01, 3},
			Change{Change: nan, Low: -inf, High: inf, P: 1, Adjusted: 1, Verdict: CannotTell}},
		"no number": {ten(1), []float64{1, nan}, Floor{0.01, 3},
			Change{Change: nan, Low: -inf, High: inf, P: 1, Adjusted: 1, Verdict: CannotTell}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Floor = c.floor.Change
			old, fresh := slices.Clone(c.old), slices.Clone(c.new)
			slices.Reverse(old)
			got := Compare([]Pair{{Apart(old), Apart(fresh)}}, true, c.floor)
			if d := cmp.Diff([]Change{c.want}, got, near); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			slices.Reverse(old)
			if d := cmp.Diff([][]float64{c.old, c.new}, [][]float64{old, fresh}, near); d != "" {
				t.Errorf("%s: the runs are other ones now: %s", name, d)
			}
		})
	}
	if got := Compare([]Pair{{Apart(ten(100)), Apart(ten(110))}}, false, Floor{0.01, 10})[0]; got.Verdict != Worse ||
		!got.Proven() {
		t.Errorf("where lower is better, more is %+v", got)
	}
}

// Holm's method agrees with an example that was calculated by hand.
func TestHolm(t *testing.T) {
	changes := []Change{{P: 0.03}, {P: 0.005}, {P: 0.04}, {P: 0.01}, {P: 0.005}, {P: 0.9}}
	holm(changes)
	var got []float64
	for _, c := range changes {
		got = append(got, c.Adjusted)
	}
	if d := cmp.Diff([]float64{0.09, 0.03, 0.09, 0.04, 0.03, 0.9}, got, near); d != "" {
		t.Error(d)
	}
}

// The p-value must equal an exact count over all divisions of the runs into two sides. The count takes the divisions
// whose statistic is at least as far from its mean. The cases include equal values.
func TestPIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.IntRange(0, 12), 2, 11).Draw(t, "runs")
		old := rapid.IntRange(1, len(runs)-1).Draw(t, "old")
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = float64(r)
		}
		want, got := counted(values, old), Pair{Apart(values[:old]), Apart(values[old:])}.mannWhitney()
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("p is %v but by counting %v", got, want)
		}
	})
	// There are 220 ways to place three twos among twelve values. In 4 of them, all twos are among the four values of
	// one side.
	ones := slices.Repeat([]float64{1}, 8)
	for i, p := range []Pair{{Apart(ones), Apart([]float64{1, 2, 2, 2})}, {Apart([]float64{2, 1, 2, 2}), Apart(ones)}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got, want := p.mannWhitney(), 4.0/220; math.Abs(got-want) > 1e-12 {
				t.Errorf("p is %v, not %v", got, want)
			}
		})
	}
}

// counted returns the two-sided p-value if values is divided at index old.
func counted(values []float64, old int) float64 {
	off := func(in uint) float64 {
		u := 0.0
		for i, a := range values {
			for j, b := range values {
				if in>>i&1 == 1 && in>>j&1 == 0 {
					u += (1 + sign(a-b)) / 2
				}
			}
		}
		return math.Abs(u - float64(old*(len(values)-old))/2)
	}
	is := off(1<<old - 1)
	far, all := 0.0, 0.0
	for in := range uint(1) << len(values) {
		if bits.OnesCount(in) != old {
			continue
		}
		all++
		if off(in) >= is {
			far++
		}
	}
	return far / all
}

// The interval of the change excludes 0 exactly where p is below 5 %.
func TestIntervalAgreesWithP(t *testing.T) {
	random := seeded(6)
	for range 2000 {
		n, m := 2+random.IntN(11), 2+random.IntN(11)
		p := Pair{Apart(normal(random, n)), Apart(around(random, m, 100+2*random.Float64(), 0.01))}
		low, high := p.interval(leftOuts{})
		if excludes := low > 0 || high < 0; excludes != (p.mannWhitney() < Alpha) {
			t.Fatalf("the interval of %v is %v to %v, but p is %v", p, low, high, p.mannWhitney())
		}
	}
}

// The interval of the change covers the true change as often as it claims, even with many runs.
func TestIntervalOfChangeHolds(t *testing.T) {
	random := seeded(7)
	for _, n := range []int{4, 10, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			held, cases := 0, fewer(1000, 400)
			for range cases {
				if low, high := (Pair{Apart(normal(random, n)), Apart(around(random, n, 200, 0.01))}).interval(
					leftOuts{}); low <= 1 && 1 <= high {
					held++
				}
			}
			if share := float64(held) / float64(cases); share < 0.935 {
				t.Errorf("with %d runs %.3f of the intervals hold the change", n, share)
			}
		})
	}
}

func TestFewestRuns(t *testing.T) {
	for _, c := range []struct {
		comparisons int
		again       bool
		want        int
	}{
		{1, false, 4}, {1, true, 3}, {5, false, 5}, {19, false, 6}, {23, false, 6}, {24, false, 7}, {19, true, 5},
		{400, false, 9}, {0, false, 4},
	} {
		t.Run(fmt.Sprint(c.comparisons), func(t *testing.T) {
			if got := FewestRuns(c.comparisons, c.again); got != c.want {
				t.Errorf("%+v: %d runs", c, got)
			}
		})
	}
	// Needed is at most the number of runs that a plan demands. If the baseline has twice the runs, the other cells
	// need fewer runs.
	pair := func(old, new int) []Pair {
		return slices.Repeat([]Pair{{Apart(ten(100)[:old]), Apart(ten(200)[:new])}}, 3)
	}
	for _, c := range []struct{ old, new, want int }{{6, 3, FewestRuns(3, true)}, {3, 3, FewestRuns(3, false)}} {
		t.Run(fmt.Sprint(c.old), func(t *testing.T) {
			if got := Compare(pair(c.old, c.new), true, Floor{Change: 0.01})[0].Needed; got != c.want {
				t.Errorf("%+v: %d runs", c, got)
			}
		})
	}
	if p := SmallestP(10, 10); math.Abs(p/1.0825e-5-1) > 1e-4 {
		t.Errorf("the smallest p of ten against ten is %v", p)
	}
	if SmallestP(0, 10) != 1 || SmallestP(1, 1) != 1 || Provable(3, 3, 1) || !Provable(4, 4, 1) {
		t.Error("few runs prove more than they can, or less")
	}
}

// The needed number of runs proves the change in about 4 of 5 studies.
func TestNeeded(t *testing.T) {
	random := seeded(8)
	pairs := slices.Repeat([]Pair{{Apart(ten(100)), Apart(ten(100))}}, 20)
	for _, c := range []struct{ delta, floor float64 }{{0.012, 0.001}, {0.02, 0.001}, {0.05, 0.001}, {0.01, 0.011},
		{0.02, 0.011}} {
		n := runsFor(c.delta, 0.01, len(pairs), Floor{c.floor, 10}, false)
		floor := Floor{c.floor * math.Sqrt(10/float64(n)), n}
		share := shareOf(fewer(200, 60), func() bool {
			pairs[0] = Pair{Apart(normal(random, n)), Apart(around(random, n, 100*(1+c.delta), 0.01))}
			return Compare(pairs, true, floor)[0].Proven()
		})
		if share < 0.70 || share > 0.92 && n > FewestRuns(len(pairs), false) {
			t.Errorf("%+v: %d runs prove it in %.2f of studies", c, n, share)
		}
	}
}

// RunsFor returns about the textbook's number for two samples of normal noise, 16 (noise/change)². It returns more for
// more comparisons.
func TestRunsFor(t *testing.T) {
	same := normal(seeded(9), 2000)
	for _, c := range []struct {
		change      float64
		comparisons int
		floor       Floor
		low, high   int
	}{
		{0.01, 1, Floor{}, 15, 19},
		{0.005, 1, Floor{}, 62, 70},
		{0.01, 20, Floor{}, 28, 36},
		{0.05, 1, Floor{}, 4, 4},
		{0.0001, 1, Floor{}, MostNeeded + 1, MostNeeded + 1},
		{0.01, 1, Floor{0.01, 10}, 17, 25},
		{0.01, 1, Floor{0.01, 0}, 0, 0},
		{0.011, 0, Floor{0.01, 0}, 12, 17},
	} {
		t.Run(fmt.Sprint(c.change), func(t *testing.T) {
			if got := RunsFor(c.change, same, c.comparisons, c.floor); got < c.low || got > c.high {
				t.Errorf("%+v: %d runs", c, got)
			}
		})
	}
	if got := RunsFor(0.01, nil, 1, Floor{}); got != FewestRuns(1, false) {
		t.Errorf("without runs that show noise: %d", got)
	}
}
