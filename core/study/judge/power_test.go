package judge

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/psbench/psbench/internal/numeral"
)

func TestFewest(t *testing.T) {
	for _, c := range []struct{ comparisons, want int }{{0, 4}, {1, 4}, {2, 4}, {5, 5}, {20, 6}, {24, 6}, {100, 7},
		{400, 7}} {
		t.Run(fmt.Sprint(c.comparisons), func(t *testing.T) {
			if got := Fewest(c.comparisons); got != c.want {
				t.Errorf("%d comparisons: %d rounds", c.comparisons, got)
			}
		})
	}
	for _, c := range []struct {
		pair        Pair
		comparisons int
		ok          bool
		fewest      int
	}{
		{Pair{base, inRounds(1, 2, 3, 4, 5, 6)}, 20, true, 6},
		{Pair{base, inRounds(1, 2, 3, 4, 5)}, 20, true, 6}, // provable, but only by large changes
		{Pair{base, inRounds(1, 2, 3)}, 20, false, 6},
		{Pair{base, inRounds(1, 2, 3, 4)}, 1, true, 4},
		{Pair{base, Runs{Rounds: []int{}}}, 1, false, 4},
		{Pair{inRounds(1, 2, 3, 4), Runs{[]float64{1, 2, 3, 4}, []int{4, 5, 6, 7}}}, 1, false, 4}, // no common round
		{Pair{Apart([]float64{1, 2, 3, 4}), Apart([]float64{1, 2, 3, 4})}, 1, true, 4},
		{Pair{Apart(base.Values), Apart([]float64{1, 2, 3})}, 1, true, 3},
		{Pair{Apart([]float64{1, 2, 3, 4}), inRounds(1, 2, 3, 4)}, 19, false, 6},
	} {
		t.Run(fmt.Sprint(c.comparisons), func(t *testing.T) {
			if ok, fewest := c.pair.Provable(c.comparisons); ok != c.ok || fewest != c.fewest {
				t.Errorf("%+v: %v, %d", c, ok, fewest)
			}
		})
	}
}

// A study of Fewest rounds usually finds a change of five times the noise of a round.
func TestFewestFind(t *testing.T) {
	for _, comparisons := range []int{1, 5, 20} {
		t.Run(fmt.Sprint(comparisons), func(t *testing.T) {
			n := Fewest(comparisons)
			share := found(t, n, comparisons, 5*roundNoise, 200)
			t.Logf("%d comparisons, %d rounds: %.2f", comparisons, n, share)
			if share < 0.6 {
				t.Errorf("%d rounds find it among %d in %.2f of studies", n, comparisons, share)
			}
		})
	}
}

// roundNoise is the standard deviation of the difference within a round between one run and two runs of the baseline.
// Each run has 1 % of noise.
var roundNoise = 0.01 * math.Sqrt(1.5)

// found returns the share of studies of n rounds that prove a change of the last cell. delta is the logarithm of the
// change.
func found(t *testing.T, n, comparisons int, delta float64, studies int) float64 {
	t.Helper()
	random := seeded(uint64(1000*n + comparisons))
	s := sweep{cells: comparisons, rounds: n, noise: plain, machine: machines[1], change: math.Expm1(-delta)}
	return shareOf(studies, func() bool { return s.answers(random) })
}

// The needed number of rounds proves the change in about 4 of 5 studies.
func TestNeededRounds(t *testing.T) {
	random := seeded(21)
	given := z(1-Alpha/2) * math.Sqrt(math.Pi/2/10) * 0.01 * math.Sqrt2 // floor of the median of 10 rounds
	for _, c := range []struct {
		delta       float64
		comparisons int
	}{{0.03, 1}, {0.02, 1}, {0.01, 1}, {0.03, 5}, {0.015, 5}, {0.03, 20}, {0.015, 20}} {
		t.Run(fmt.Sprint(c.delta), func(t *testing.T) {
			var owns []float64
			for range 100 {
				owns = append(owns, ownFloor(around(random, 10, 1, roundNoise), c.comparisons))
			}
			n := max(roundsFor(c.delta, Change{noise: roundNoise, own: numeral.Median(owns), given: given, Rounds: 10},
				c.comparisons, Floor{math.Expm1(given), 10}), Fewest(c.comparisons))
			share := found(t, n, c.comparisons, c.delta, 200)
			t.Logf("%+v: %d rounds prove it in %.2f of studies", c, n, share)
			if share < 0.68 || share > 0.94 && n > Fewest(c.comparisons) {
				t.Errorf("%+v: %d rounds prove it in %.2f of studies", c, n, share)
			}
		})
	}
}

// A floor hides smaller changes. Every floor falls with more rounds, except the floor between sessions.
func TestNeededAboveFloor(t *testing.T) {
	c := Change{effect: 0.02, noise: 0.001, given: 0.03, own: 0.001, held: 0.03, Rounds: 6}
	p := Pair{inRounds(1, 2), inRounds(1, 2)}
	few := func() int { return 4 }
	for want, floor := range map[int]Floor{28: {0.03, 6}, 0: {0.03, 0}} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			if got := p.needed(c, 1, few, floor); got != want {
				t.Errorf("above %+v %d rounds are needed, not %d", floor, got, want)
			}
		})
	}
	// Here the floor of the comparison's own rounds hides the change. Such a floor always falls with more rounds.
	c.given, c.own = 0.001, 0.03
	if got := p.needed(c, 1, few, Floor{0.001, 0}); got != 27 {
		t.Errorf("above its own floor %d rounds are needed", got)
	}
}

// The interval of a change covers the true change in 95 % of cases, even if one side is noisier.
func TestIntervalWithinRoundsHolds(t *testing.T) {
	studies := fewer(3000, 800)
	for i, n := range []noise{plain, noises[9], outliers} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			for _, rounds := range []int{4, 6, 10, 30} {
				random := seeded(uint64(100*i + rounds))
				s := sweep{cells: 1, rounds: rounds, noise: n, machine: machines[1], change: 0.1}
				share := shareOf(studies, func() bool {
					c := s.judged(random)[0]
					return c.Low <= 0.1 && 0.1 <= c.High
				})
				t.Logf("%s, %d rounds: %.3f", n.name, rounds, share)
				if share < 0.94-2*math.Sqrt(0.05/float64(studies)) {
					t.Errorf("%s, %d rounds: %.3f of the intervals hold the change", n.name, rounds, share)
				}
			}
		})
	}
}
