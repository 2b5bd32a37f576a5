package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/numeral"
)

// MostNeeded is the largest number of runs that is still practical. A change that needs more is out of reach.
const MostNeeded = 1000

// power is the share of studies in which the needed number of runs proves a real change.
const power = 0.8

// SmallestP returns the smallest possible p-value for the given numbers of old and new runs. The runs reach it if the
// values of the two sides do not overlap.
func SmallestP(old, new int) float64 {
	if old < 1 || new < 1 {
		return 1
	}
	return min(1, 2*math.Exp(-combin.LogGeneralizedBinomial(float64(old+new), float64(old))))
}

// Provable reports whether the given numbers of old and new runs can prove any change among this many comparisons.
func Provable(old, new, comparisons int) bool {
	return SmallestP(old, new)*float64(max(1, comparisons)) < Alpha
}

// FewestRuns returns the number of runs that each cell needs to prove any change, for this many comparisons with the
// baseline. again means that the baseline has an A/A cell and therefore twice the runs.
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

// Fewest returns the number of runs that each cell of a sweep needs, for this many comparisons within rounds. This
// number finds a change of five times the noise of a round in 4 of 5 studies. Student's test needs larger changes if
// there are few rounds or many comparisons.
func Fewest(comparisons int) int {
	for n := FewestRounds; ; n++ {
		rounds := float64(n)
		asked := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: rounds - 2}.Quantile(1 - Alpha/float64(max(1, comparisons))/2)
		// In 4 of 5 studies the estimated deviation is at most this many times the true one.
		noisy := math.Sqrt(distuv.ChiSquared{K: rounds - 1}.Quantile(power) / (rounds - 1))
		if 5*math.Sqrt(rounds)/noisy > asked {
			return n
		}
	}
}

// Provable reports whether the pair can prove any change among this many comparisons. fewest is the number of runs per
// side with which the pair could easily prove one.
func (p Pair) Provable(comparisons int) (ok bool, fewest int) {
	if p.Old.InRounds() && p.New.InRounds() {
		fewest = Fewest(comparisons)
		return len(p.differences(false)) >= FewestRounds, fewest
	}
	old, new := len(p.Old.Values), len(p.New.Values)
	return Provable(old, new, comparisons), FewestRuns(comparisons, Again(old, new))
}

// RunsFor returns the number of runs on each side that prove a relative change in 4 of 5 studies with this many
// comparisons. same holds runs of one experiment, from which RunsFor estimates the noise. A result above MostNeeded is
// out of reach. The result is 0 if the change is below a floor that more runs do not lower.
func RunsFor(change float64, same []float64, comparisons int, floor Floor) int {
	if floor.Runs == 0 && change <= floor.Change {
		return 0
	}
	return runsFor(change, Pair{Old: Apart(same)}.noise(), max(1, comparisons), floor, false)
}

// needed returns the number of runs on each side that would prove a change as large as c, if c is real. fewest returns
// the smallest number of rounds that can prove a change.
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

// roundsFor returns the number of rounds that prove a difference delta with probability power. It is the sample size of
// Student's test with Guenther's correction. Floors fall with the square root of the rounds, unless more runs do not
// lower them. If all rounds have the same difference, the p-value depends only on the number of rounds.
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

// Again reports whether one side has at least twice the runs of the other. A baseline with an A/A cell has.
func Again(old, new int) bool { return max(old, new) >= 2*min(old, new) }

// runsFor returns the number of runs on each side that prove a change delta with probability power. It starts from the
// sample size for normal noise, with Guenther's correction for few runs. It divides this size by 3/pi, the efficiency
// of the Mann-Whitney test. The floor falls with the square root of the runs, and the change must exceed the floor with
// the same probability. If one side has twice the runs, fewer runs can prove a change.
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

// noise returns the relative standard deviation of the runs around their side's median. It comes from the median
// absolute deviation, as for normal noise. A few slow runs therefore hardly affect it, as they hardly affect the test.
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

// z returns a quantile of the standard normal distribution.
func z(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
