package verdict

import (
	"cmp"
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Effects are what the axes do to the medians of cells. These are taken as products of a factor for each
// value of each axis, by least squares of their logarithms.
type Effects struct {
	Axes []Effect // those that have several values, the largest share first
	// Combined is the share of the variance between the cells that no such factors explain: what a value
	// does depends on those of other axes. The noise of the medians is in it, which is noise by itself.
	Combined, Noise float64
}

// Effect is what one axis does.
type Effect struct {
	Axis int
	// Share is of the variance between the cells: what the axis explains beside those that were taken into account
	// before it, in the mean of several orders of the axes. So all shares and what is combined are the whole, and of
	// axes that go together where cells are missing, each is credited with a part of what both explain. Of relative
	// importance in regression this is the mean over orders by Lindeman, Merenda and Gold (1980).
	Share float64
	// Low and high are its values with the least and the largest factor, and change is from one to the other.
	Low, High string
	Change    float64
}

// point is a cell among others: the logarithm of its median.
type point struct {
	values []string // on the axes, and its work
	y      float64
}

// EffectsOf are those on a metric; none where medians are not above 0, or do not differ.
func EffectsOf(s *model.Study, m model.Metric) Effects {
	var points []point
	noise := 0.0
	bounds, sized := bounds(s), s.WithinAt() >= 0
	for _, c := range s.Cells {
		if bounds[s.Resolved(c)] || crashes(s, s.Resolved(c)) {
			continue
		}
		e := judge.Of(runsOf(s, c, m.Name).Values)
		if math.IsNaN(e.Median) {
			continue
		}
		if e.Median <= 0 {
			return Effects{}
		}
		points = append(points, point{append(slices.Clone(c.Values), workOf(s, c)), math.Log(level(s, c, m))})
		noise += math.Pi / 2 * e.Spread * e.Spread / float64(e.N) // the variance of a median of normal noise
	}
	var axes []int
	for i, a := range s.Axes {
		if sized && IsWork(a.Name) {
			continue
		}
		if slices.ContainsFunc(points, func(p point) bool { return p.values[i] != points[0].values[i] }) {
			axes = append(axes, i)
		}
	}
	// Where sizes are apart, each operation at each size is so: its mean is taken off first.
	var apart []int
	if sized {
		apart = []int{len(s.Axes)}
		axes = append(axes, apart...)
	}
	_, total := fit(points, apart)
	if total <= 0 || math.IsInf(total, 0) {
		return Effects{}
	}
	factors, left := fit(points, axes)
	out := Effects{Combined: left / total, Noise: noise / total}
	shares := importance(points, axes, apart, total)
	for at, axis := range axes {
		if slices.Contains(apart, axis) {
			continue
		}
		e := Effect{Axis: axis, Share: shares[at]}
		lowest, highest := math.Inf(1), math.Inf(-1)
		for _, value := range s.Axes[axis].Values {
			y, ok := factors[at][value]
			if ok && y < lowest {
				lowest, e.Low = y, value
			}
			if ok && y > highest {
				highest, e.High = y, value
			}
		}
		e.Change = math.Expm1(highest - lowest)
		out.Axes = append(out.Axes, e)
	}
	slices.SortStableFunc(out.Axes, func(a, b Effect) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// importance is what each of some axes explains of a total, in the mean of the orders that begin with each of them,
// forwards and backwards. Those that are apart come first and explain nothing of it.
func importance(points []point, axes, apart []int, total float64) []float64 {
	shares := make([]float64, len(axes))
	free := slices.DeleteFunc(slices.Clone(axes), func(axis int) bool { return slices.Contains(apart, axis) })
	orders := 0.0
	for first := range free {
		turned := slices.Concat(free[first:], free[:first])
		back := slices.Clone(turned)
		slices.Reverse(back)
		for _, order := range [][]int{turned, back} {
			known, unexplained := slices.Clone(apart), total
			for _, axis := range order {
				known = append(known, axis)
				_, left := fit(points, known)
				shares[slices.Index(axes, axis)] += max(0, unexplained-left) / total
				unexplained = left
			}
			orders++
		}
	}
	for i := range shares {
		shares[i] /= max(1, orders)
	}
	return shares
}

// mostTurns bounds how often a fit goes through the axes. It is done after one where no cells are missing.
const mostTurns = 1000

// fit explains points by a mean and a term for each value of each of some axes, and says what squares are
// left. It adjusts the axes in turn, which comes to the least squares.
func fit(points []point, axes []int) (terms []map[string]float64, left float64) {
	rest := make([]float64, len(points))
	mean := 0.0
	for _, p := range points {
		mean += p.y / float64(len(points))
	}
	for i, p := range points {
		rest[i] = p.y - mean
	}
	terms = make([]map[string]float64, len(axes))
	for i := range terms {
		terms[i] = map[string]float64{}
	}
	for range mostTurns {
		moved := 0.0
		for i, axis := range axes {
			sums, counts := map[string]float64{}, map[string]float64{}
			for j, p := range points {
				sums[p.values[axis]] += rest[j]
				counts[p.values[axis]]++
			}
			for value, sum := range sums {
				terms[i][value] += sum / counts[value]
				moved = max(moved, math.Abs(sum/counts[value]))
			}
			for j, p := range points {
				rest[j] -= sums[p.values[axis]] / counts[p.values[axis]]
			}
		}
		if moved < 1e-9 {
			break
		}
	}
	for _, r := range rest {
		left += r * r
	}
	return terms, left
}
