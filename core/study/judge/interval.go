package judge

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"

	"github.com/psbench/psbench/internal/numeral"
)

// interval returns the Hodges-Lehmann confidence interval of the relative change. It takes the change between each pair
// of an old and a new run. It leaves out as many of the smallest and the largest changes as the Mann-Whitney test
// allows. The interval is exact, assumes no distribution, needs no seed, and excludes 0 if p is below Alpha. A
// bootstrap of the medians of ten runs has none of these properties. The interval is infinite if there are too few
// runs.
func (p Pair) interval(ends leftOuts) (low, high float64) {
	changes := p.changes()
	out := ends.of(len(p.Old.Values), len(p.New.Values))
	if out < 0 || len(changes) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return changes[out], changes[len(changes)-1-out]
}

// changes returns the relative changes between all pairs of runs, in ascending order. If all old runs are above 0, a
// change is the ratio less 1. Otherwise it is the difference divided by the old median. changes returns nil if that
// median is 0.
func (p Pair) changes() []float64 {
	center := numeral.Median(p.Old.Values)
	ratios := slices.Min(p.Old.Values) > 0
	if !ratios && center == 0 {
		return nil
	}
	return p.between(func(a, b float64) float64 {
		if ratios {
			return b/a - 1
		}
		return (b - a) / math.Abs(center)
	})
}

// between calls of for each pair of an old and a new run and returns the results in ascending order.
func (p Pair) between(of func(old, new float64) float64) []float64 {
	out := make([]float64, 0, len(p.Old.Values)*len(p.New.Values))
	for _, a := range p.Old.Values {
		for _, b := range p.New.Values {
			out = append(out, of(a, b))
		}
	}
	slices.Sort(out)
	return out
}

// leftOuts caches leftOut by the numbers of old and new runs. Many pairs of a comparison have the same numbers.
type leftOuts map[[2]int]int

func (l leftOuts) of(old, new int) int {
	sizes := [2]int{old, new}
	if _, ok := l[sizes]; !ok {
		l[sizes] = leftOut(old, new)
	}
	return l[sizes]
}

// leftOut returns how many changes lie below the interval; the same number lies above. It is the largest number for
// which a Mann-Whitney statistic of at most this number has a probability of at most Alpha/2. leftOut returns -1 if
// there are too few runs for an interval.
func leftOut(old, new int) int {
	if max(old, new) > moremath.MannWhitneyExactLimit {
		n, m := float64(old), float64(new)
		return int(math.Floor(n*m/2 - z(1-Alpha/2)*math.Sqrt(n*m*(n+m+1)/12) - 0.5))
	}
	d := moremath.UDist{N1: old, N2: new}
	low, high := -1, old*new/2 // low's probability is small enough, high's too large
	for high-low > 1 {
		if middle := (low + high) / 2; d.CDF(float64(middle)) <= Alpha/2 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
