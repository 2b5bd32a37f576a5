package judge

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// mostCounted is the number of runs of both sides up to which mannWhitney is exact.
const mostCounted = 60

// mannWhitney returns the two-sided p-value of the Mann-Whitney test: the share, among all ways to call so many of the
// values old, in which the statistic is at least as far from its mean. Up to mostCounted runs it is exact, even with
// equal values.
func (p Pair) mannWhitney() float64 {
	old, new := p.Old.Values, p.New.Values
	if len(old)+len(new) > mostCounted {
		// With equal values and sides of different size, the library may take the lower tail where it needs the upper
		// one.
		up := benchmath.AssumeNothing.Compare(sample(old), sample(new)).P
		down := benchmath.AssumeNothing.Compare(sample(negated(old)), sample(negated(new))).P
		return min(1, max(up, down))
	}
	groups, is := tied(old, new)
	ways := rankSums(groups, len(new))
	// Twice a sum of ranks is a whole number, and so is twice its mean.
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

// tied returns how often each distinct value occurs, in ascending order of the values, and twice the sum of the ranks
// of the new values.
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

// rankSums counts the ways to choose this many of the values, by twice the sum of their ranks.
func rankSums(groups []int, chosen int) []float64 {
	values := 0
	for _, n := range groups {
		values += n
	}
	most := chosen * 2 * values
	ways := make([][]float64, chosen+1) // by the number of chosen values, then by twice the sum of their ranks
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	below := 0
	for _, n := range groups {
		rank := 2*below + n + 1 // doubled
		below += n
		for have := min(chosen, below); have > 0; have-- {
			largest := have * 2 * below // no sum of so many ranks is larger yet
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
