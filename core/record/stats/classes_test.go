package stats

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The expected values were counted by hand.
func TestAUC(t *testing.T) {
	for name, test := range map[string]struct {
		scores []Classes
		want   float64
		ok     bool
	}{
		"none":           {nil, 0, false},
		"positives only": {[]Classes{{3, 0}, {1, 0}}, 0, false},
		"negatives only": {[]Classes{{0, 3}}, 0, false},
		"right":          {[]Classes{{0, 2}, {}, {3, 0}}, 1, true},
		"wrong":          {[]Classes{{3, 0}, {0, 2}}, 0, true},
		"all equal":      {[]Classes{{3, 5}}, 0.5, true},
		"mixed":          {[]Classes{{0, 1}, {1, 0}, {0, 1}, {1, 0}}, 0.75, true},
		"ties":           {[]Classes{{1, 2}, {2, 1}}, 2. / 3, true},
		"many":           {[]Classes{{1 << 30, 3 << 30}, {3 << 30, 1 << 30}}, 0.75, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := AUC(test.scores)
			if ok != test.ok || ok && math.Abs(got-test.want) > 1e-15 {
				t.Errorf("%s: %v, %v, want %v, %v", name, got, ok, test.want, test.ok)
			}
		})
	}
}

// AUC agrees with a comparison of every pair.
func TestAUCComparesAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOf(rapid.IntRange(-5, 5)).Draw(t, "scores")
		positive := rapid.SliceOfN(rapid.Bool(), len(scores), len(scores)).Draw(t, "positive")
		byScore := map[int]Classes{}
		wins, pairs := 0.0, 0.0
		for i, x := range scores {
			if !positive[i] {
				byScore[x] = byScore[x].Add(Classes{Negatives: 1})
				continue
			}
			byScore[x] = byScore[x].Add(Classes{Positives: 1})
			for j, y := range scores {
				switch {
				case positive[j]:
					continue
				case x > y:
					wins++
				case x == y:
					wins += 0.5
				}
				pairs++
			}
		}
		var ascending []Classes
		for _, score := range slices.Sorted(maps.Keys(byScore)) {
			ascending = append(ascending, byScore[score])
		}
		got, ok := AUC(ascending)
		if ok != (pairs > 0) || ok && got != wins/pairs {
			t.Fatalf("AUC is %v, %v; %v of %v pairs are won", got, ok, wins, pairs)
		}
	})
}

func TestEntropy(t *testing.T) {
	for c, want := range map[Classes]float64{
		{}: 0, {5, 0}: 0, {0, 5}: 0, {2, 2}: math.Ln2, {1, 3}: 0.5623351446188083, {3, 1}: 0.5623351446188083,
	} {
		if got := c.Entropy(); math.Abs(got-want) > 1e-15 || math.Signbit(got) {
			t.Errorf("the entropy of %+v is %v, want %v", c, got, want)
		}
	}
}
