package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/numeral"
)

// A Python program that tries all signs computed the expected numbers.
func TestFloorOfRounds(t *testing.T) {
	baseline, again := []float64{100, 90, 120, 105, 99, 110, 101}, []float64{102, 93, 118, 105.5, 96, 113, 103}
	for _, c := range []struct {
		name            string
		baseline, again Runs
		want            Floor
	}{
		{"seven rounds", inRounds(baseline...), inRounds(again...), Floor{0.02, 7}},
		{"six", inRounds(baseline[:6]...), inRounds(again[:6]...), Floor{0.0236299047, 6}},
		{"four", inRounds(baseline[:4]...), inRounds(again[:4]...), Floor{0.0184734339, 4}},
		{"each lost one", without(inRounds(append([]float64{lost}, baseline...)...)),
			without(inRounds(slices.Concat([]float64{90}, again[:6], []float64{lost})...)), Floor{0.0236299047, 6}},
		{"no noise", inRounds(baseline...), inRounds(baseline...), Floor{0, 7}},
		{"all are 0", inRounds(0, 0, 0, 0), inRounds(0, 0, 0, 0), Floor{0, 4}},
		{"below zero", inRounds(-1, 0, 3, 2, -2, 1), inRounds(1, 2, 1, 2, 0, 4), Floor{2, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FloorOfRounds(c.baseline, c.again)
			if err != nil || got.Runs != c.want.Runs || math.Abs(got.Change-c.want.Change) > 1e-9 {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			if back, err := FloorOfRounds(c.again, c.baseline); err != nil || math.Abs(back.Change-got.Change) > 1e-12 {
				t.Errorf("%s: with the sides exchanged it is %+v, %v", c.name, back, err)
			}
		})
	}
	for i, c := range []struct {
		want            string
		baseline, again Runs
	}{
		{"the noise floor needs at least 4 rounds in which the baseline and its A/A cell came to their end, but there are 0",
			inRounds(), inRounds(1, 2, 3, 4)},
		{"the noise floor needs at least 4 rounds in which the baseline and its A/A cell came to their end, but there are 3",
			inRounds(1, 2, 3, 4), inRounds(1, 2, 3)},
		{"the noise floor needs finite values, but a run of the baseline or its A/A cell has none",
			inRounds(1, 2, 3, math.NaN()), inRounds(1, 2, 3, 4)},
		{"the noise floor is relative to the median, which is 0 for the 8 runs of the baseline and its A/A cell",
			inRounds(0, 0, 0, 0), inRounds(1, 2, 0, 3)},
		{"the noise floor is relative to the median, which is 0 for the 8 runs of the baseline and its A/A cell",
			inRounds(1, -1, 1, -1), inRounds(-1, 1, -1, 1)},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := FloorOfRounds(c.baseline, c.again); err == nil || err.Error() != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}

// The floor of a machine depends on its noise alone. Drift does not change it.
func TestDriftIsNoNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(FewestRounds, 12).Draw(t, "rounds")
		values := rapid.SliceOfN(rapid.Float64Range(0.9, 1.1), n, n)
		a, b, level := values.Draw(t, "a"), values.Draw(t,
			"b"), rapid.SliceOfN(rapid.Float64Range(0.1, 10), n, n).Draw(t, "level")
		want, err := FloorOfRounds(inRounds(a...), inRounds(b...))
		for i, l := range level {
			a[i], b[i] = l*a[i], l*b[i]
		}
		got, errDrift := FloorOfRounds(inRounds(a...), inRounds(b...))
		if err != nil || errDrift != nil || math.Abs(got.Change-want.Change) > 1e-9 {
			t.Fatalf("%+v, %v but without drift %+v, %v", got, errDrift, want, err)
		}
	})
}

// flipped gives the same result as a trial of all signs.
func TestFlippedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-9, 9), rapid.SampledFrom([]float64{0, 1, -1, 2})), 1,
			11).Draw(t, "differences")
		var medians []float64
		for signs := range 1 << len(d) {
			drawn := slices.Clone(d)
			for i := range drawn {
				if signs>>i&1 == 1 {
					drawn[i] = -drawn[i]
				}
			}
			medians = append(medians, math.Abs(numeral.Median(drawn)))
		}
		slices.Sort(medians)
		for _, alpha := range []float64{Alpha, ownAlpha, 0.5} {
			want := medians[int(math.Ceil((1-alpha)*float64(len(medians))-1e-9))-1]
			if got := flipped(d, alpha); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%v but by trying all %v", got, want)
			}
		}
	})
	// The probabilities of all medians add up to 1, for any number of rounds.
	for _, n := range []int{1, 2, 5, 6, 40, 301, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sum := 0.0
			for _, m := range middlesOf(make([]float64, n)) {
				sum += m.chance
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("of %d the chances add up to %v", n, sum)
			}
		})
	}
}

// If two further cells run the same experiment, the median difference between them stays below the floor in about 95 of
// 100 cases. The share is lower if the floor comes from few rounds.
func TestFloorOfRoundsHolds(t *testing.T) {
	random := seeded(12)
	for _, n := range []int{6, 10, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			share := shareOf(2000, func() bool {
				floor, err := FloorOfRounds(inRounds(normal(random, n)...), inRounds(normal(random, n)...))
				if err != nil {
					t.Fatal(err)
				}
				p := Pair{inRounds(normal(random, n)...), inRounds(normal(random, n)...)}
				return math.Abs(numeral.Median(p.differences(true))) <= math.Log1p(floor.Change)
			})
			if share < 0.80 || share > 0.97 {
				t.Errorf("with %d rounds %.3f of the changes are below the floor", n, share)
			}
		})
	}
}
