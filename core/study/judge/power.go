package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/numeral"
)

// MostNeeded is beyond what anybody runs: a change that needs more runs is not within reach.
const MostNeeded = 1000

// power is the share of studies that prove a change with as many runs as are needed.
const power = 0.8

// SmallestP is the smallest p that so many old and new runs can have: that of runs which do not overlap.
func SmallestP(old, new int) float64 {
	if old < 1 || new < 1 {
		return 1
	}
	return min(1, 2*math.Exp(-combin.LogGeneralizedBinomial(float64(old+new), float64(old))))
}

// Provable says whether so many old and new runs can prove anything in so many comparisons.
func Provable(old, new, comparisons int) bool {
	return SmallestP(old, new)*float64(max(1, comparisons)) < Alpha
}

// FewestRuns is how many runs each cell needs so that anything can be proven in so many comparisons
// with the baseline, which has twice as many where it is run again.
func FewestRuns(comparisons int, again bool) int {
	for n := 1; ; n++ {
		old := n
		if again {
			old = 2 * n
		}
		if Provable(old, n, comparisons) {
			return n
		}
	}
}

// Fewest is how many runs each cell of a sweep needs so that anything can be proven in so many comparisons within
// rounds: as many as find a change of five times the noise of a round in 4 of 5 studies. Student's test asks for large
// values of few rounds, and for larger ones the more comparisons are made together.
func Fewest(comparisons int) int {
	for n := FewestRounds; ; n++ {
		rounds := float64(n)
		asked := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: rounds - 2}.Quantile(1 - Alpha/float64(max(1, comparisons))/2)
		// deviations that look so much larger
		noisy := math.Sqrt(distuv.ChiSquared{K: rounds - 1}.Quantile(power) / (rounds - 1))
		if 5*math.Sqrt(rounds)/noisy > asked {
			return n
		}
	}
}

// Provable says whether a pair can prove anything among so many comparisons, and how many runs of each side easily
// could.
func (p Pair) Provable(comparisons int) (ok bool, fewest int) {
	if p.Old.InRounds() && p.New.InRounds() {
		fewest = Fewest(comparisons)
		return len(p.differences(false)) >= FewestRounds, fewest
	}
	old, new := len(p.Old.Values), len(p.New.Values)
	return Provable(old, new, comparisons), FewestRuns(comparisons, Again(old, new))
}

// RunsFor is how many runs on each side prove a relative change in 4 of 5 studies with so many comparisons,
// where runs of the same differ as these do: above MostNeeded is not within reach, and 0 that runs do not help, for
// the floor hides it.
func RunsFor(change float64, same []float64, comparisons int, floor Floor) int {
	if floor.Runs == 0 && change <= floor.Change {
		return 0
	}
	return runsFor(change, Pair{Old: Apart(same)}.noise(), max(1, comparisons), floor, false)
}

// needed is how many runs on each side would prove a change as large as this one, if it is there. Fewest is how many
// rounds that takes at least.
func (p Pair) needed(c Change, comparisons int, fewest func() int, floor Floor) int {
	delta := math.Abs(c.effect)
	switch {
	case !p.judgeable() || math.IsNaN(delta) || floor.Runs == 0 && floor.Change > 0 && delta <= c.given:
		return 0
	case delta == 0:
		return MostNeeded + 1
	case p.Old.InRounds() && p.New.InRounds():
		return max(roundsFor(delta, c, comparisons, floor), fewest(), c.Rounds+1)
	}
	have := min(len(p.Old.Values), len(p.New.Values))
	return max(runsFor(delta, p.noise(), comparisons, Floor{c.given, floor.Runs},
		Again(len(p.Old.Values), len(p.New.Values))), have+1)
}

// roundsFor is how many rounds prove a difference delta with power: the sample size of Student's test with Guenther's
// correction. Floors fall with the root of the rounds, but for one that more runs do not
// lower. Where all rounds have the same difference, chance is told by their number alone.
func roundsFor(delta float64, c Change, comparisons int, floor Floor) int {
	test := z(1 - Alpha/float64(comparisons)/2)
	sigmas := (test + z(power)) * c.noise / delta
	rounds := sigmas*sigmas + test*test/2
	if c.noise <= sameShare*delta {
		rounds = float64(fewestEqual(comparisons))
	}
	above := func(floor, alpha float64) {
		ratio := floor / delta * (1 + z(power)/z(1-alpha/2))
		rounds = max(rounds, float64(c.Rounds)*ratio*ratio)
	}
	above(c.own, ownAlpha/float64(comparisons))
	if floor.Runs > 0 {
		above(c.given, Alpha)
	}
	return int(min(math.Ceil(rounds), MostNeeded+1))
}

// Again says whether so many old runs are those of a baseline that runs twice as often as others, whichever
// side it stands on.
func Again(old, new int) bool { return max(old, new) >= 2*min(old, new) }

// runsFor is how many runs on each side prove a change delta with power. For the test that is the sample
// size of normal noise with Guenther's correction for few runs, divided by the efficiency of Mann and
// Whitney's, 3/pi; the floor falls with the root of the runs, and the change must be above it as surely. Where one side
// runs again, fewer can prove something.
func runsFor(delta, noise float64, comparisons int, floor Floor, again bool) int {
	test := z(1 - Alpha/float64(comparisons)/2)
	sigmas := (test + z(power)) * noise / delta
	runs := math.Pi / 3 * (2*sigmas*sigmas + test*test/4)
	if floor.Runs > 0 {
		ratio := floor.Change / delta * (1 + z(power)/z(1-Alpha/2))
		runs = max(runs, float64(floor.Runs)*ratio*ratio)
	}
	return max(int(min(math.Ceil(runs), MostNeeded+1)), FewestRuns(comparisons, again))
}

// noise is the standard deviation of the runs of a side relative to their median, as that of normal noise
// which has their median absolute deviation: a few slow runs hardly matter to the test either.
func (p Pair) noise() float64 {
	var deviations, all []float64
	for _, side := range [][]float64{p.Old.Values, p.New.Values} {
		if len(side) == 0 {
			continue
		}
		center := numeral.Median(side)
		for _, v := range side {
			d := relative(center, v)
			if math.IsNaN(d) {
				d = 1
			}
			deviations, all = append(deviations, math.Abs(d)), append(all, d)
		}
	}
	if len(deviations) == 0 {
		return 0
	}
	slices.Sort(deviations)
	if m := numeral.MedianSorted(deviations); m > 0 {
		return m / z(0.75)
	}
	return stat.StdDev(append(all, 0), nil)
}

// z is a quantile of the normal distribution.
func z(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
