package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDriftOf(t *testing.T) {
	// The four cells are 1, 2, 3 and 4 times as fast. Each round changes all cells by the same factor.
	cells := func(rounds ...float64) []Runs {
		out := make([]Runs, 4)
		for i := range out {
			for k, v := range rounds {
				out[i].Values, out[i].Rounds = append(out[i].Values, v*float64(i+1)), append(out[i].Rounds, 10+k)
			}
		}
		return out
	}
	oneLost := cells(100, 101, 103, 105, 106, 108)
	oneLost[2].Values, oneLost[2].Rounds = oneLost[2].Values[1:], oneLost[2].Rounds[1:]
	eachLost := cells(100, 101, 103, 105, 106, 108)
	for i := range eachLost {
		eachLost[i].Values, eachLost[i].Rounds = slices.Delete(eachLost[i].Values, i,
			i+1), slices.Delete(eachLost[i].Rounds, i, i+1)
	}
	almostAllLost := append(cells(100, 101, 103, 105, 106, 108), Runs{[]float64{5}, []int{12}}, Runs{Rounds: []int{}},
		Apart([]float64{1, 2, 3}), Runs{[]float64{0, 1, 1, 1, 1, 1}, []int{10, 11, 12, 13, 14, 15}})
	for name, c := range map[string]struct {
		cells []Runs
		want  Drift
		ok    bool
	}{
		"it gets faster":        {cells(100, 101, 103, 105, 106, 108), Drift{10, 15, 0.08, true}, true},
		"it gets slower":        {cells(108, 107, 105, 103, 102, 100), Drift{15, 10, 0.08, true}, true},
		"up and down":           {cells(100, 105, 101, 104, 102, 103), Drift{10, 11, 0.05, false}, true},
		"a cell lost a round":   {oneLost, Drift{10, 15, 0.08, true}, true},
		"each lost another one": {eachLost, Drift{10, 15, 0.08, true}, true},
		"no round in common": {[]Runs{{[]float64{1, 2, 3}, []int{0, 1, 2}}, {[]float64{1, 2, 3}, []int{3, 4, 5}}},
			Drift{}, false},
		"a cell lost nearly all": {almostAllLost, Drift{10, 15, 0.08, true}, true},
		"all rounds are alike":   {cells(100, 100, 100, 100, 100, 100), Drift{}, false},
		"two rounds":             {cells(100, 110), Drift{}, false},
		"one cell":               {cells(100, 101, 103, 105, 106, 108)[:1], Drift{}, false},
		"none":                   {nil, Drift{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := DriftOf(c.cells)
			if ok != c.ok || math.Abs(got.Change-c.want.Change) > 1e-9 || got.Least != c.want.Least ||
				got.Most != c.want.Most || got.Steady != c.want.Steady {
				t.Errorf("%s: %+v, %v", name, got, ok)
			}
		})
	}
}

// DriftOf reports drift for at most 1 % of sweeps on a steady machine. If the rounds differ by five times the noise,
// DriftOf reports drift for nearly all sweeps.
func TestDriftIsRareAndFound(t *testing.T) {
	studies := fewer(1000, 200)
	limit := 0.01 + 3*math.Sqrt(0.01/float64(studies))
	for _, c := range []struct {
		cells, rounds int
		found         float64
	}{{2, 3, 0}, {2, 6, 0.3}, {3, 4, 0.3}, {3, 6, 0.9}, {6, 4, 0.9}, {7, 10, 1}, {22, 6, 1}} {
		t.Run(fmt.Sprint(c.cells), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(c.cells), uint64(c.rounds)))
			drifts := func(studies int, level float64) float64 {
				return shareOf(studies, func() bool {
					_, ok := DriftOf(sweep{cells: c.cells - 2, rounds: c.rounds, noise: plain,
						machine: machine{round: level}}.runs(random))
					return ok
				})
			}
			none, much := drifts(studies, 0), drifts(40, 0.05)
			t.Logf("%+v: %.2f %% of steady machines drift, and of others %.0f %%", c, 100*none, 100*much)
			if none > limit || much < c.found {
				t.Errorf("%+v: %.2f %% of steady machines drift, and of others %.0f %%", c, 100*none, 100*much)
			}
		})
	}
}

// Failed runs neither hide a drift nor cause a false one, whichever runs fail.
func TestDriftWithFailures(t *testing.T) {
	studies := fewer(1000, 200)
	limit := 0.01 + 3*math.Sqrt(0.01/float64(studies))
	oneEach := func(_ *rand.Rand, cell, round int) bool { return cell == round }
	third := func(r *rand.Rand, _, _ int) bool { return r.Float64() < 0.3 }
	lateInHalf := func(_ *rand.Rand, cell, round int) bool { return cell%2 == 0 && round >= 5 }
	for name, fails := range map[string]func(r *rand.Rand, cell, round int) bool{
		"each cell lacks another round": oneEach, "three of ten runs fail": third,
		"half of the cells lack the last rounds": lateInHalf,
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(8, 8))
			drifts := func(studies int, trend float64) float64 {
				return shareOf(studies, func() bool {
					cells := sweep{cells: 6, rounds: 8, noise: plain, machine: machine{trend: trend}}.runs(random)
					for i, c := range cells {
						cells[i] = Runs{Rounds: []int{}}
						for k, v := range c.Values {
							if !fails(random, i, c.Rounds[k]) {
								cells[i].Values, cells[i].Rounds = append(cells[i].Values, v), append(cells[i].Rounds,
									c.Rounds[k])
							}
						}
					}
					drift, ok := DriftOf(cells)
					return ok && (trend == 0 || drift.Least < drift.Most)
				})
			}
			none, much := drifts(studies, 0), drifts(99, 0.35)
			t.Logf("%.2f %% of steady machines drift, and of others %.0f %%", 100*none, 100*much)
			if none > limit || much < 1 {
				t.Errorf("%.2f %% of steady machines drift, and of others %.0f %%", 100*none, 100*much)
			}
		})
	}
}
