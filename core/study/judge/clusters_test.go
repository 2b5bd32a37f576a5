package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn returns n values from draw.
func drawn(n int, draw func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = draw(i)
	}
	return out
}

// clustered reports whether RunWarnings finds two clusters.
func clustered(runs []float64) bool {
	for _, w := range RunWarnings(runs) {
		if strings.HasPrefix(w, "the runs are in two clusters") {
			return true
		}
	}
	return false
}

// Plain noise looks like two clusters in about 1 % of cells, even if the noise has a long tail. The test checks times
// and the rates computed from them.
func TestClustersAreRare(t *testing.T) {
	for name, c := range map[string]struct {
		draw func(r *rand.Rand) float64
		most float64
	}{
		"normal":              {func(r *rand.Rand) float64 { return 1 + 0.05*r.NormFloat64() }, 0.017},
		"wide normal":         {func(r *rand.Rand) float64 { return 1 + 0.2*r.NormFloat64() }, 0.017},
		"around 0":            {func(r *rand.Rand) float64 { return r.NormFloat64() }, 0.017},
		"lognormal":           {func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }, 0.017},
		"wide lognormal":      {func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }, 0.017},
		"exponential":         {func(r *rand.Rand) float64 { return 1 + 0.1*r.ExpFloat64() }, 0.017},
		"rates":               {func(r *rand.Rand) float64 { return 1 / (1 + 0.1*r.ExpFloat64()) }, 0.017},
		"purely exponential":  {func(r *rand.Rand) float64 { return r.ExpFloat64() }, 0.017},
		"exponential below 0": {func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }, 0.017},
		"gamma":               {func(r *rand.Rand) float64 { return 1 + 0.1*(r.ExpFloat64()+r.ExpFloat64()) }, 0.045},
		"a tenth slowed":      {func(r *rand.Rand) float64 { return slowed(r) }, 0.025},
		"uniform, by a drift": {func(r *rand.Rand) float64 { return 1 + 0.2*r.Float64() }, 0.030},
	} {
		t.Run(name, func(t *testing.T) {
			cases := fewer(4000, 500)
			// The share of found clusters is less certain with fewer cases.
			most := c.most + 3*math.Sqrt(c.most/float64(cases)) - 3*math.Sqrt(c.most/4000)
			for _, n := range []int{4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100, 200} {
				random := seeded(uint64(n))
				share := shareOf(cases,
					func() bool { return clustered(drawn(n, func(int) float64 { return c.draw(random) })) })
				t.Logf("%3d runs: %.4f", n, share)
				if share > most {
					t.Errorf("%d runs are warned of in %.4f of cells, more than %.3f", n, share, most)
				}
			}
		})
	}
}

// The test has a minimum detection rate for two clusters that are 20 % apart. The rate depends on the noise within each
// cluster and on the number of runs in the smaller one.
func TestClustersAreFound(t *testing.T) {
	random := seeded(12)
	for _, c := range []struct {
		noise     float64
		runs, few int
		least     float64
	}{
		{0.04, 6, 3, 0.05}, {0.04, 10, 2, 0.03}, {0.04, 10, 5, 0.11}, {0.04, 20, 4, 0.33}, {0.04, 20, 10, 0.35},
		{0.04, 30, 6, 0.63}, {0.04, 30, 15, 0.48}, {0.04, 50, 10, 0.85}, {0.04, 50, 25, 0.7},
		{0.03, 6, 3, 0.16}, {0.03, 10, 2, 0.13}, {0.03, 10, 5, 0.38}, {0.03, 20, 4, 0.7}, {0.03, 20, 10, 0.8},
		{0.03, 30, 6, 0.9}, {0.03, 30, 15, 0.95}, {0.03, 50, 10, 0.99}, {0.03, 50, 25, 0.99},
		{0.02, 6, 3, 0.45}, {0.02, 10, 2, 0.52}, {0.02, 10, 5, 0.88}, {0.02, 20, 4, 0.97}, {0.02, 20, 10, 0.99},
		{0.02, 30, 6, 0.99}, {0.02, 30, 15, 0.99}, {0.02, 50, 10, 0.99}, {0.02, 50, 25, 0.99},
		{0.01, 6, 3, 0.95}, {0.01, 10, 2, 0.97}, {0.01, 10, 5, 0.99}, {0.01, 20, 4, 0.99}, {0.01, 20, 10, 0.99},
	} {
		share := shareOf(2000, func() bool {
			return clustered(drawn(c.runs, func(i int) float64 {
				v := 100 * (1 + c.noise*random.NormFloat64())
				if i < c.few {
					v *= 1.2
				}
				return v
			}))
		})
		t.Logf("noise of %.0f %%, %2d of %2d runs: %.3f", 100*c.noise, c.few, c.runs, share)
		if share < c.least {
			t.Errorf("with noise of %.0f %% clusters of %d and %d runs are found in %.3f of cells, less than %.2f",
				100*c.noise, c.few, c.runs-c.few, share, c.least)
		}
	}
}
