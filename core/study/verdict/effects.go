package verdict

import (
	"cmp"
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Effects describes how the axes affect the medians of cells. The model is a product of factors, one for each value of
// each axis. It is fitted to the logarithms by least squares.
type Effects struct {
	Axes []Effect // axes that have several values, in descending order of share
	// Combined is the share of the variance between the cells, from 0 to 1, that the factors do not explain. This share
	// arises because the effect of a value depends on other axes, and from noise. Noise is the part of Combined due to
	// the noise of the medians.
	Combined, Noise float64
}

// Effect is the effect of one axis.
type Effect struct {
	Axis int
	// Share is the share of the variance between the cells, from 0 to 1, that the axis explains. The fit adds one axis
	// after the other. The share of an axis is the additional variance that it explains at its turn, averaged over
	// several orders of the axes. All shares and Combined add up to 1. If cells are missing, the values of two axes may
	// be correlated. Each of the two axes then gets a part of the variance that both explain. The method is the mean
	// over orders by Lindeman, Merenda and Gold (1980) for relative importance in regression.
	Share float64
	// Low and High are the axis values with the smallest and the largest factor. Change is the relative change from Low
	// to High.
	Low, High string
	Change    float64
}

// point is a cell with the logarithm of its level.
type point struct {
	values []string // values on the axes, followed by the work
	y      float64
}

// EffectsOf returns the effects of the axes on a metric. It returns no effects if a median is not above 0 or if all
// medians are equal.
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
		noise += math.Pi / 2 * e.Spread * e.Spread / float64(e.N) // variance of the median under normal noise
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
	// If the study compares within sizes, each operation at each size has its own mean, which is subtracted first.
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

// importance returns the share of total that each axis explains. It averages over several orders of the axes: each axis
// comes first in one order, and each order also runs backwards. The axes in apart always come first and get no share.
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

// mostTurns is the largest number of passes that fit makes over the axes. One pass is enough if no cells are missing.
const mostTurns = 1000

// fit approximates points by a mean plus a term for each value of each given axis. left is the remaining sum of
// squares. fit adjusts one axis after the other, which converges to the least squares solution.
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
