package judge

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/splitmix"
)

// Floor is the noise floor of a machine: no smaller change of medians is believed.
type Floor struct {
	// Change is relative: 0.01 is 1 %.
	Change float64
	// Runs is how many runs each of the two medians had that it was measured with. With more runs
	// it would be lower. 0 is a floor that more runs do not lower: that of sessions.
	Runs int
}

// splits is how often the A runs are split to find the floor.
const splits = 10_000

// fewestA is how many A runs a floor needs: two medians of two runs.
const fewestA = 4

// FloorOf is the noise floor of A runs, those of the baseline and of its A/A cell together, in any
// order: they are split into halves at random 10,000 times, and the floor is the 95th percentile of the
// absolute change of medians. The same runs and seed have the same floor.
func FloorOf(a []float64, seed uint64) (Floor, error) {
	switch {
	case len(a) < fewestA:
		return Floor{}, fmt.Errorf("the noise floor needs at least %d runs of the baseline and its A/A cell together, but there are %d", fewestA, len(a))
	case !finite(a):
		return Floor{}, fmt.Errorf("the noise floor needs finite values, but a run of the baseline or its A/A cell has none")
	}
	sorted := slices.Sorted(slices.Values(a))
	random := splitmix.New(seed, 0)
	changes := make([]float64, splits)
	left, right := make([]float64, 0, len(a)), make([]float64, 0, len(a))
	for i := range changes {
		left, right = split(random, sorted, left[:0], right[:0])
		from, to := median(left), median(right)
		change := math.Abs(relative(from, to))
		switch {
		case math.IsNaN(change):
			return Floor{}, fmt.Errorf("the noise floor is relative to the median, but half of the %d runs of the baseline and its A/A cell have 0", len(a))
		case sign(from)*sign(to) < 0 || change > mostRatio:
			return Floor{}, fmt.Errorf("the noise floor is relative to the median, but that of half of the %d runs of the baseline and its A/A cell may be %.4g, and that of the other half %.4g", len(a), min(from, to), max(from, to))
		}
		changes[i] = change
	}
	slices.Sort(changes)
	return Floor{Change: stat.Quantile(0.95, stat.Empirical, changes, nil), Runs: len(a) / 2}, nil
}

// split divides sorted values into halves at random. Both are sorted as well, since each value in
// turn goes left with the share of the places that are free there.
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

// SessionFloor is the floor of changes between runs of different sessions, from the medians of two
// sessions of the same at least: the change that two more sessions stay below in 95 of 100 cases, by
// Student's distribution.
func SessionFloor(medians []float64) (Floor, error) {
	n := len(medians)
	if n < 2 {
		return Floor{}, fmt.Errorf("changes between sessions need at least 2 sessions, but there is %d", n)
	}
	center := medianOf(medians)
	switch {
	case !finite(medians) || center == 0:
		return Floor{}, fmt.Errorf("changes between sessions are relative to the median, which is %g", center)
	case slices.Min(medians) < 0 && slices.Max(medians) > 0:
		return Floor{}, fmt.Errorf("changes between sessions are relative to the median, but the medians go from %g to %g", slices.Min(medians), slices.Max(medians))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - Alpha/2)
	return Floor{Change: t * math.Sqrt2 * stat.StdDev(medians, nil) / math.Abs(center)}, nil
}
