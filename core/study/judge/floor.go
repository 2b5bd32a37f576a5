package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/splitmix"
)

// Floor is the noise floor of a machine. A smaller change is never believed.
type Floor struct {
	// Change is relative: 0.01 is 1 % more, or a decrease by the same factor.
	Change float64
	// Runs is the number of runs on each side of the measurement of the floor. More runs would lower the floor. 0
	// marks a floor that more runs do not lower, such as the floor between sessions.
	Runs int
}

// splits is how often FloorOf splits the A runs.
const splits = 10_000

// fewestA is the number of A runs that a floor needs: two for each of two medians.
const fewestA = 4

// FloorOf returns the noise floor of runs that were not made in rounds. The runs are those of the baseline and of its
// A/A cell together, in any order. It splits them into random halves 10,000 times; the floor is the 95th percentile of
// the absolute change between the medians of the halves. The same runs and seed give the same floor. It returns an
// error for fewer than 4 runs, for values that are not finite, and for medians that allow no relative change.
func FloorOf(a []float64, seed uint64) (Floor, error) {
	switch {
	case len(a) < fewestA:
		return Floor{},
			fmt.Errorf(
				"the noise floor needs at least %d runs of the baseline and its A/A cell together, but there are %d",
				fewestA, len(a))
	case !numeral.Finite(a...):
		return Floor{},
			fmt.Errorf("the noise floor needs finite values, but a run of the baseline or its A/A cell has none")
	}
	sorted := slices.Sorted(slices.Values(a))
	random := splitmix.New(seed, 0)
	changes := make([]float64, splits)
	left, right := make([]float64, 0, len(a)), make([]float64, 0, len(a))
	for i := range changes {
		left, right = split(random, sorted, left[:0], right[:0])
		from, to := numeral.MedianSorted(left), numeral.MedianSorted(right)
		change := math.Abs(relative(from, to))
		switch {
		case math.IsNaN(change):
			return Floor{},
				fmt.Errorf("the noise floor is relative to the median, but the median of half of the %d runs of the baseline and its A/A cell may be 0",
					len(a))
		case sign(from)*sign(to) < 0 || change > mostRatio:
			return Floor{},
				fmt.Errorf("the noise floor is relative to the median, but half of the %d runs of the baseline and its A/A cell may have the median %s, and the other half %s",
					len(a), screen.Number(min(from, to)), screen.Number(max(from, to)))
		case from > 0 && to > 0:
			change = max(from, to)/min(from, to) - 1 // the same whichever half comes first
		}
		changes[i] = change
	}
	slices.Sort(changes)
	return Floor{Change: stat.Quantile(1-Alpha, stat.Empirical, changes, nil), Runs: len(a) / 2}, nil
}

// FloorOfRounds returns the noise floor of a baseline and its A/A cell that were made in the same rounds. Within a
// round the two differ by noise alone, so the sign of each difference is random. The floor is the 95th percentile of
// the absolute median difference under random signs. The same runs give the same floor. It returns an error for fewer
// than FewestRounds common rounds, for values that are not finite, and for a median of 0.
func FloorOfRounds(baseline, again Runs) (Floor, error) {
	p := Pair{baseline, again}
	if len(baseline.Values) == 0 || len(again.Values) == 0 {
		return Floor{},
			fmt.Errorf("the noise floor needs at least %d rounds in which the baseline and its A/A cell came to their end, but there are 0",
				FewestRounds)
	}
	if !p.judgeable() {
		return Floor{},
			fmt.Errorf("the noise floor needs finite values, but a run of the baseline or its A/A cell has none")
	}
	logs := slices.Min(baseline.Values) > 0 && slices.Min(again.Values) > 0
	d := p.differences(logs)
	if len(d) < FewestRounds {
		return Floor{},
			fmt.Errorf("the noise floor needs at least %d rounds in which the baseline and its A/A cell came to their end, but there are %d",
				FewestRounds, len(d))
	}
	by := flipped(d, Alpha)
	center := math.Abs(numeral.Median(slices.Concat(baseline.Values, again.Values)))
	switch {
	case logs:
		return Floor{math.Expm1(by), len(d)}, nil
	case by == 0:
		return Floor{0, len(d)}, nil
	case center == 0:
		return Floor{},
			fmt.Errorf("the noise floor is relative to the median, which is 0 for the %d runs of the baseline and its A/A cell",
				len(baseline.Values)+len(again.Values))
	}
	return Floor{by / center, len(d)}, nil
}

// ownAlpha is the chance that noise exceeds the floors of the comparisons' own rounds, over all comparisons. It is
// below Alpha because of cells with skewed noise: their mean differs from their median, so Student's test alone would
// find a change.
const ownAlpha = 0.03

// ownFloor returns the noise floor of one comparison, from the scatter of its differences around their median. It is
// above the floor of the machine where a side is noisier than the baseline.
func ownFloor(d []float64, comparisons int) float64 {
	center := numeral.Median(d)
	off := make([]float64, len(d))
	for i, v := range d {
		off[i] = v - center
	}
	return flipped(off, ownAlpha/float64(comparisons))
}

// flipped returns the size that the absolute median of d, with random signs, exceeds with probability alpha at most.
// It is exact: it weighs each possible median by its probability and draws nothing.
func flipped(d []float64, alpha float64) float64 {
	sizes := make([]float64, len(d))
	for i, v := range d {
		sizes[i] = math.Abs(v)
	}
	slices.Sort(sizes)
	middles := middlesOf(sizes)
	slices.SortFunc(middles, func(a, b middle) int { return cmp.Compare(b.size, a.size) })
	beyond := 0.0
	for _, m := range middles {
		if beyond += m.chance; beyond > alpha+1e-12 {
			return m.size
		}
	}
	return 0
}

// middle is a possible absolute median and its probability.
type middle struct{ size, chance float64 }

// middlesOf returns the possible absolute medians of sizes, in ascending order, under random signs. A median above 0
// is one size, or the mean of two. As many larger sizes must be positive as values lie above a median. Each median
// stands for its negative too, so its probability is doubled.
func middlesOf(sizes []float64) []middle {
	n := len(sizes)
	above := (n - 1) / 2 // number of values above the middle one or two
	var out []middle
	for upper := range sizes {
		larger := n - 1 - upper
		if larger < above {
			break
		}
		chance := math.Exp(combin.LogGeneralizedBinomial(float64(larger), float64(above)) - float64(larger)*math.Ln2)
		if n%2 == 1 {
			out = append(out, middle{sizes[upper], chance})
			continue
		}
		// The sizes between lower and upper must be negative; otherwise they would lie between the two in order.
		for lower := upper - 1; lower >= 0 && upper-lower <= 60; lower-- {
			chance /= 2
			out = append(out, middle{(sizes[lower] + sizes[upper]) / 2, chance})
		}
		if upper > 0 && upper <= 60 {
			out = append(out, middle{(sizes[upper] - sizes[0]) / 2, chance})
		}
	}
	return out
}

// split divides sorted values into random halves. Both halves stay sorted: each value in turn goes left with a
// probability equal to the share of free places there.
func split(random *splitmix.Stream, sorted, left, right []float64) (l, r []float64) {
	half := len(sorted) / 2
	for i, v := range sorted {
		if random.IntN(len(sorted)-i) < half-len(left) {
			left = append(left, v)
		} else {
			right = append(right, v)
		}
	}
	return left, right
}

// SessionFloor returns the floor of changes between runs of different sessions. It takes the medians of at least two
// sessions of the same experiment. In 95 of 100 cases the change between two further sessions stays below it, by
// Student's distribution. It returns an error for fewer than two sessions and for medians that allow no relative
// change.
func SessionFloor(medians []float64) (Floor, error) {
	n := len(medians)
	if n < 2 {
		return Floor{}, fmt.Errorf("changes between sessions need at least 2 sessions, but there is %d", n)
	}
	center := numeral.Median(medians)
	switch {
	case !numeral.Finite(medians...) || center == 0:
		return Floor{}, fmt.Errorf("changes between sessions are relative to the median, which is %g", center)
	case slices.Min(medians) < 0 && slices.Max(medians) > 0:
		return Floor{},
			fmt.Errorf("changes between sessions are relative to the median, but the medians go from %s to %s",
				screen.Number(slices.Min(medians)), screen.Number(slices.Max(medians)))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - Alpha/2)
	return Floor{Change: t * math.Sqrt2 * stat.StdDev(medians, nil) / math.Abs(center)}, nil
}
