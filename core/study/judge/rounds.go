package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psbench/psbench/internal/numeral"
)

// Comparisons within rounds cancel the drift of a machine, which makes whole rounds slower than others. For each round
// the comparison takes the logarithm of the ratio of the new run to the old one, or to the mean of several old runs.
// These differences are independent, and their median is 0 if nothing changed. Student's test of their mean needs no
// assumption about the noise of either side, so one side may be many times as noisy as the other.
//
// The test divides by the standard deviation, so a single disturbed run would hide the change of all others. A
// difference therefore counts as at most farthest times the robust deviation from the median. This limits at most one
// difference in five. The limit makes the test slightly too confident, so the test gives up a degree of freedom.
// docs/statistics.md shows the effect by simulation.
const (
	// FewestRounds is the smallest number of rounds that a comparison needs.
	FewestRounds = 4
	farthest     = 4
	mostLimited  = 5
	// sameShare is the tolerance for rounding. Differences count as equal if they deviate by at most this share of
	// their size.
	sameShare = 1e-9
)

// withinRounds returns the change between runs that were made in rounds. comparisons is the number of comparisons made
// together.
func (p Pair) withinRounds(comparisons int, floor Floor) Change {
	logs := slices.Min(p.Old.Values) > 0 && slices.Min(p.New.Values) > 0
	d := p.differences(logs)
	c := Change{Change: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1, Floor: floor.Change, Rounds: len(d)}
	if len(d) == 0 {
		c.effect = math.NaN()
		return c
	}
	center := math.Abs(numeral.Median(p.Old.Values))
	share := func(by float64) float64 {
		switch {
		case logs:
			return math.Expm1(by)
		case center > 0:
			return by / center
		case by == 0:
			return 0
		}
		return math.NaN()
	}
	c.effect = numeral.Median(d)
	low, high := math.Inf(-1), math.Inf(1)
	if len(d) >= FewestRounds {
		low, high, c.P = student(d)
		low, high = min(low, c.effect), max(high, c.effect)
	}
	c.noise = stat.StdDev(limited(d), nil)
	c.own, c.given = ownFloor(d, comparisons), floor.Change*center
	if logs {
		c.given = math.Log1p(floor.Change)
	}
	c.held = max(c.own, c.given)
	c.exceeds = math.Abs(c.effect) > c.held
	c.Change, c.Floor = share(c.effect), share(c.held)
	if !math.IsInf(low, 0) {
		c.Low, c.High = share(low), share(high)
	}
	if !logs || !p.isRelative(c) {
		c.Difference, c.FloorDifference = &Difference{numeral.Median(p.differences(false)), low, high}, c.held
		if logs {
			c.Difference.Low, c.Difference.High, c.FloorDifference = c.Low*center, c.High*center, c.Floor*center
		}
	}
	return c
}

// Level estimates the median of the new runs over all rounds of the old ones: the old median, changed by the median
// difference within rounds. Without a common round Level returns the median of the new runs, or NaN as Of does.
func Level(old, new Runs) float64 {
	p := Pair{old, new}
	own := Of(new.Values).Median
	if !p.judgeable() || !old.InRounds() || !new.InRounds() {
		return own
	}
	logs := slices.Min(old.Values) > 0 && slices.Min(new.Values) > 0
	d := p.differences(logs)
	switch {
	case len(d) == 0:
		return own
	case logs:
		return numeral.Median(old.Values) * math.Exp(numeral.Median(d))
	}
	return numeral.Median(old.Values) + numeral.Median(d)
}

// differences returns the difference between the new and the old runs for each round that both sides have. If logs is
// true, it subtracts logarithms.
func (p Pair) differences(logs bool) []float64 {
	old, new := p.Old.byRound(logs), p.New.byRound(logs)
	var d []float64
	for _, round := range sortedKeys(new) {
		if from, ok := old[round]; ok {
			d = append(d, minus(stat.Mean(new[round], nil), stat.Mean(from, nil), logs))
		}
	}
	return d
}

// minus returns a-b, for values or their logarithms. It is 0 if a and b are equal except for rounding.
func minus(a, b float64, logs bool) float64 {
	size := max(math.Abs(a), math.Abs(b))
	if logs {
		size = max(size, 1)
	}
	if math.Abs(a-b) <= 1e-13*size {
		return 0
	}
	return a - b
}

// byRound groups the values, or their logarithms, by round.
func (r Runs) byRound(logs bool) map[int][]float64 {
	all := map[int][]float64{}
	for i, v := range r.Values {
		if logs {
			v = math.Log(v)
		}
		all[r.Rounds[i]] = append(all[r.Rounds[i]], v)
	}
	return all
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// limited returns d with its outliers moved closer to the median. An outlier is farther from the median than farthest
// robust deviations, and farther than four fifths of all differences. If all differences are equal except for rounding,
// d stays unchanged.
func limited(d []float64) []float64 {
	center, largest := numeral.Median(d), 0.0
	off := make([]float64, len(d))
	for i, v := range d {
		off[i], largest = math.Abs(v-center), max(largest, math.Abs(v))
	}
	slices.Sort(off)
	most := max(farthest*numeral.MedianSorted(off)/z(0.75), off[len(off)-1-len(off)/mostLimited])
	out := slices.Clone(d)
	if most <= sameShare*largest {
		return out
	}
	for i := range out {
		out[i] = min(max(out[i], center-most), center+most)
	}
	return out
}

// student returns the confidence interval and the p-value of the mean of d by Student's distribution. d needs at least
// FewestRounds values.
func student(d []float64) (low, high, p float64) {
	e, n := limited(d), float64(len(d))
	mean, deviation := stat.MeanStdDev(e, nil)
	if deviation <= sameShare*math.Abs(mean) {
		// All rounds have the same difference, as counts do, so the p-value depends only on the number of rounds.
		return mean, mean, equalP(mean, len(d))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}
	reach := t.Quantile(1-Alpha/2) * deviation / math.Sqrt(n)
	return mean - reach, mean + reach, min(1, 2*t.Survival(math.Abs(mean)/deviation*math.Sqrt(n)))
}

// equalP returns the probability that n differences all have the same sign, positive or negative.
func equalP(by float64, n int) float64 {
	if by == 0 {
		return 1
	}
	return math.Pow(2, 1-float64(n))
}

// fewestEqual returns how many equal differences prove a change among this many comparisons, with a p-value below
// Alpha.
func fewestEqual(comparisons int) int { return 2 + int(math.Log2(float64(comparisons)/Alpha)) }
