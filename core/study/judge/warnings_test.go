package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRunWarnings(t *testing.T) {
	tight := []float64{100, 101, 99.5, 100.5, 100.2, 99.8}
	for name, c := range map[string]struct {
		runs []float64
		want []string
	}{
		"none": {nil, nil},
		"five": {[]float64{1, 2, 3, 4, 5},
			[]string{"too few runs: 5, but the median has a confidence interval from 6 on"}},
		"six": {tight, nil},
		"no number": {append([]float64{math.NaN()}, tight...),
			[]string{"a run has no finite value, so the median of the runs means nothing"}},
		"all the same": {[]float64{5, 5, 5, 5, 5, 5}, nil},
		"one outlier":  {append([]float64{150}, tight...), nil},
		"a few of each": {[]float64{864, 20594, 912, 790, 14000, 27500},
			[]string{
				"the runs are in two clusters: 3 around 864.0 and 3 around 20,594 (+2283.6 %), so their median may be of neither",
			}},
		"two of each": {[]float64{864, 20594, 20610, 866}, []string{
			"too few runs: 4, but the median has a confidence interval from 6 on",
			"the runs are in two clusters: 2 around 865.0 and 2 around 20,602 (+2281.7 %), so their median may be of neither",
		}},
		"below zero": {[]float64{-5, 5.1, -5.2, 5, -4.9, 5.2},
			[]string{"the runs are in two clusters: 3 around −5.000 and 3 around 5.100, so their median may be of neither"}},
		"far apart": {[]float64{1e-300, 1e300, 2e-300, 2e300, 1e-300, 1e300},
			[]string{
				"the runs are in two clusters: 3 around 1.000e−300 and 3 around 1.000e300, so their median may be of neither",
			}},
		"far below": {[]float64{-1e308, 1e308, -1e308, 1e308, 1e308, 1e308}, nil},
		"two clusters": {append([]float64{110, 110.4, 109.5}, tight...),
			[]string{
				"the runs are in two clusters: 6 around 100.1 and 3 around 110.0 (+9.9 %), so their median may be of neither",
			}},
		"two values": {[]float64{5, 6, 5, 6, 5, 6},
			[]string{
				"the runs are in two clusters: 3 around 5.000 and 3 around 6.000 (+20.0 %), so their median may be of neither",
			}},
		"from zero": {[]float64{0, 6, 0, 6, 0, 6},
			[]string{"the runs are in two clusters: 3 around 0 and 3 around 6.000, so their median may be of neither"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.runs)
			if got := RunWarnings(c.runs); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q", name, got)
			}
			if len(before) > 0 && before[len(before)-1] != c.runs[len(before)-1] {
				t.Errorf("%s: the runs are sorted now", name)
			}
		})
	}
}

func shareOf(cases int, is func() bool) float64 {
	n := 0
	for range cases {
		if is() {
			n++
		}
	}
	return float64(n) / float64(cases)
}

// iterations returns n durations around 20 ms with noise of 10 %. factor scales each duration by its place in the run,
// which goes from 0 to 1.
func iterations(random *rand.Rand, n int, factor func(place float64) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 20 * (1 + 0.1*random.NormFloat64()) * factor(float64(i)/float64(n))
	}
	return out
}

func same(float64) float64 { return 1 }

// autoregressive returns noise in which each value correlates with the previous one.
func autoregressive(random *rand.Rand, n int, correlation float64) []float64 {
	out, x := make([]float64, n), random.NormFloat64()
	for i := range out {
		out[i] = 20 * (1 + 0.1*x)
		x = correlation*x + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
	}
	return out
}

func TestIterationWarnings(t *testing.T) {
	random := seeded(10)
	step := func(place float64) float64 {
		if place < 0.25 {
			return 1
		}
		return 1.3
	}
	for name, c := range map[string]struct {
		durations []float64
		want      []string // beginnings of the warnings
	}{
		"too few": {iterations(random, 19, func(p float64) float64 { return 1 + p }), nil},
		"noise":   {iterations(random, 1000, same), nil},
		"a trend": {iterations(random, 1000, func(p float64) float64 { return 1 + 0.2*p }),
			[]string{"a trend within the run: in the second half of 1000 iterations they take 9"}},
		"getting fast": {iterations(random, 1000, func(p float64) float64 { return 1 - 0.2*p }),
			[]string{"a trend within the run: in the second half of 1000 iterations they take 1"}},
		// The fitted line would end far below 0.
		"getting very fast": {iterations(random, 1000, func(p float64) float64 { return max(0.05, 1-3*p) }),
			[]string{"a step within the run: iterations take 9"}},
		"a falling line": {iterations(random, 1000, func(p float64) float64 { return 1.01 - p }),
			[]string{"a trend within the run: in the second half of 1000 iterations they take 6"}},
		"from nothing": {iterations(random, 1000, func(p float64) float64 { return max(0, p-0.5) }),
			[]string{"a trend within the run: in the second half of 1000 iterations they take "}},
		"a step":        {iterations(random, 1000, step), []string{"a step within the run: iterations take 3"}},
		"a small trend": {iterations(random, 100000, func(p float64) float64 { return 1 + 0.01*p }), nil},
		"resemblance": {autoregressive(random, 1000, 0.75),
			[]string{"iterations depend on the one before (autocorrelation 0.7"}},
		"alternating": {autoregressive(random, 1000, -0.75),
			[]string{"iterations depend on the one before (autocorrelation -0.7"}},
		"all the same": {slices.Repeat([]float64{3}, 50), nil},
		"all zero":     {make([]float64, 50), nil},
		"no number":    {slices.Repeat([]float64{3, math.NaN()}, 50), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.durations)
			got := IterationWarnings(c.durations)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("%s: %q", name, got)
			}
			if before[len(before)-1] != c.durations[len(before)-1] && !math.IsNaN(before[len(before)-1]) {
				t.Errorf("%s: the iterations are sorted now", name)
			}
		})
	}
	late := IterationWarnings(iterations(random, 1000, step))
	if len(late) != 1 || !strings.Contains(late[0], "from number 251 of 1000 on") {
		t.Errorf("the step at 250 is %q", late)
	}
}

// At most 1 % of runs with independent noise get a warning, whatever the distribution.
func TestIterationWarningsAreRare(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal":      func(random *rand.Rand) float64 { return 1 + 0.1*random.NormFloat64() },
		"exponential": func(random *rand.Rand) float64 { return 1 + 0.1*random.ExpFloat64() },
		"heavy":       func(random *rand.Rand) float64 { return 1 + 0.01*math.Exp(2*random.NormFloat64()) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{20, 25, 100, 1000} {
				random := seeded(uint64(n))
				share := shareOf(800, func() bool {
					v := make([]float64, n)
					for i := range v {
						v[i] = draw(random)
					}
					return len(IterationWarnings(v)) > 0
				})
				if share > 0.016 {
					t.Errorf("%d iterations of %s noise are warned of in %.4f of runs", n, name, share)
				}
			}
		})
	}
}
