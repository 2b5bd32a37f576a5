package judge

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// mostCounted is the largest number of runs, both sides together, for which mannWhitney is exact.
const mostCounted = 60

// mannWhitney returns the two-sided p-value of the Mann-Whitney test. It looks at all ways to divide the values into
// old and new ones. The p-value is the share of divisions whose statistic is at least as far from its mean. Up to
// mostCounted runs the p-value is exact, even with equal values.
func (p Pair) mannWhitney() float64 {
	old, new := p.Old.Values, p.New.Values
	if len(old)+len(new) > mostCounted {
		// If values are equal and the sides differ in size, the library may take the lower tail instead of the upper
		// one.
		up := benchmath.AssumeNothing.Compare(sample(old), sample(new)).P
		down := benchmath.AssumeNothing.Compare(sample(negated(old)), sample(negated(new))).P
		return min(1, max(up, down))
	}
	groups, is := tied(old, new)
	ways := rankSums(groups, len(new))
	// Twice a sum of ranks is a whole number. Twice its mean is a whole number too.
	mean := len(new) * (len(old) + len(new) + 1)
	far, all := 0.0, 0.0
	for sum, n := range ways {
		all += n
		if abs(sum-mean) >= abs(is-mean) {
			far += n
		}
	}
	return min(1, far/all)
}

func negated(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = -v
	}
	return out
}

// tied returns how often each distinct value occurs, in ascending order of the values. doubled is twice the sum of the
// new values' ranks.
func tied(old, new []float64) (groups []int, doubled int) {
	all := slices.Sorted(slices.Values(slices.Concat(old, new)))
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i] {
			n++
		}
		for _, v := range new {
			if v == all[i] {
				doubled += 2*i + n + 1
			}
		}
		groups = append(groups, n)
		i += n
	}
	return groups, doubled
}

// rankSums counts the ways to choose this many values. Its result is indexed by twice the sum of the chosen ranks.
func rankSums(groups []int, chosen int) []float64 {
	values := 0
	for _, n := range groups {
		values += n
	}
	most := chosen * 2 * values
	ways := make([][]float64, chosen+1) // index: number of chosen values, then twice the sum of their ranks
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	below := 0
	for _, n := range groups {
		rank := 2*below + n + 1 // doubled
		below += n
		for have := min(chosen, below); have > 0; have-- {
			largest := have * 2 * below // upper bound of the sums at this point
			for take := 1; take <= min(n, have); take++ {
				of := binomial(n, take)
				for sum := take * rank; sum <= largest; sum++ {
					ways[have][sum] += of * ways[have-take][sum-take*rank]
				}
			}
		}
	}
	return ways[chosen]
}

func binomial(n, k int) float64 {
	out := 1.0
	for i := range k {
		out = out * float64(n-i) / float64(i+1)
	}
	return math.Round(out)
}

func abs(n int) int { return max(n, -n) }
