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

// Floor is the noise floor of a machine. psbench never reports a smaller change as proven.
type Floor struct {
	// Change is relative: 0.01 means an increase of 1 %, or a decrease by the same factor.
	Change float64
	// Runs is the number of runs on each side when the floor was measured. More runs would lower the floor. Runs is 0
	// if more runs do not lower the floor, as for the floor between sessions.
	Runs int
}

// splits is how often FloorOf splits the A runs.
const splits = 10_000

// fewestA is the number of A runs that a floor needs: two runs for each of the two medians.
const fewestA = 4

// FloorOf returns the noise floor of runs that were not made in rounds. a holds the runs of the baseline and its A/A
// cell together, in any order. FloorOf splits the runs into random halves 10,000 times. The floor is the 95th
// percentile of the absolute change between the medians of the two halves. The same runs and seed always give the same
// floor. FloorOf returns an error for fewer than 4 runs, for values that are not finite, and for medians that allow no
// relative change.
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
			change = max(from, to)/min(from, to) - 1 // the same in both directions
		}
		changes[i] = change
	}
	slices.Sort(changes)
	return Floor{Change: stat.Quantile(1-Alpha, stat.Empirical, changes, nil), Runs: len(a) / 2}, nil
}

// FloorOfRounds returns the noise floor of a baseline and its A/A cell that were made in the same rounds. Within a
// round the two differ by noise alone, so the sign of each difference is random. The floor is the 95th percentile of
// the absolute median difference under random signs. The same runs always give the same floor. FloorOfRounds returns an
// error for fewer than FewestRounds common rounds, for values that are not finite, and for a median of 0.
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

// ownAlpha is the chance, over all comparisons, that noise exceeds the floor of a comparison's own rounds. It is below
// Alpha because of cells with skewed noise. In such a cell the mean differs from the median, so Student's test alone
// would find a change.
const ownAlpha = 0.03

// ownFloor returns the noise floor of one comparison, computed from the scatter of its differences around their median.
// It exceeds the machine's floor if a side is noisier than the baseline.
func ownFloor(d []float64, comparisons int) float64 {
	center := numeral.Median(d)
	off := make([]float64, len(d))
	for i, v := range d {
		off[i] = v - center
	}
	return flipped(off, ownAlpha/float64(comparisons))
}

// flipped gives the values of d random signs. It returns the size that the absolute median exceeds with probability
// alpha at most. The result is exact because flipped weighs each possible median by its probability and draws no random
// numbers.
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

// middlesOf returns the possible absolute medians of sizes under random signs, in ascending order. A positive median is
// one of the sizes, or the mean of two. The number of larger sizes with a positive sign must equal the number of values
// above a median. Each median also stands for its negative, so its probability is doubled.
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
		// All sizes between lower and upper must be negative. A positive one would lie between the two in order.
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

// split divides sorted values at random into two halves, both in order. Each value goes left with a probability equal
// to the left half's share of the free places.
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
// sessions of the same experiment. By Student's distribution, the change between two further sessions stays below this
// floor in 95 of 100 cases. SessionFloor returns an error for fewer than two sessions and for medians that allow no
// relative change.
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
