package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
)

// effects are what the axes do to the medians of cells. These are taken as products of a factor for each
// value of each axis, by least squares of their logarithms.
type effects struct {
	axes []effect // those that have several values, the largest share first
	// combined is the share of the variance between the cells that no such factors explain: what a value
	// does depends on those of other axes. The noise of the medians is in it, which is noise by itself.
	combined, noise float64
}

// effect is what one axis does.
type effect struct {
	axis int
	// share is of the variance between the cells: what the axis explains beside those that were taken into account
	// before it, in the mean of several orders of the axes. So all shares and what is combined are the whole, and of axes that
	// go together where cells are missing, each is credited with a part of what both explain. Of relative importance in
	// regression this is the mean over orders by Lindeman, Merenda and Gold (1980).
	share float64
	// low and high are its values with the least and the largest factor, and change is from one to the other.
	low, high string
	change    float64
}

// point is a cell among others: the logarithm of its median.
type point struct {
	values []string // on the axes, and its work
	y      float64
}

// effects are those on a metric; none where medians are not above 0, or do not differ.
func (s *Study) effects(m Metric) effects {
	var points []point
	noise := 0.0
	bounds, sized := s.bounds(), s.within() >= 0
	for _, c := range s.Cells {
		if bounds[s.resolved(c)] || s.crashes(s.resolved(c)) {
			continue
		}
		e := judge.Of(s.runsOf(c, m.Name).Values)
		if math.IsNaN(e.Median) {
			continue
		}
		if e.Median <= 0 {
			return effects{}
		}
		points = append(points, point{append(slices.Clone(c.Values), s.workOf(c)), math.Log(s.level(c, m))})
		noise += math.Pi / 2 * e.Spread * e.Spread / float64(e.N) // the variance of a median of normal noise
	}
	var axes []int
	for i, a := range s.Axes {
		if sized && isWork(a.Name) {
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
		return effects{}
	}
	factors, left := fit(points, axes)
	out := effects{combined: left / total, noise: noise / total}
	shares := importance(points, axes, apart, total)
	for at, axis := range axes {
		if slices.Contains(apart, axis) {
			continue
		}
		e := effect{axis: axis, share: shares[at]}
		lowest, highest := math.Inf(1), math.Inf(-1)
		for _, value := range s.Axes[axis].Values {
			y, ok := factors[at][value]
			if ok && y < lowest {
				lowest, e.low = y, value
			}
			if ok && y > highest {
				highest, e.high = y, value
			}
		}
		e.change = math.Expm1(highest - lowest)
		out.axes = append(out.axes, e)
	}
	slices.SortStableFunc(out.axes, func(a, b effect) int { return cmp.Compare(b.share, a.share) })
	return out
}

// importance is what each of some axes explains of a total, in the mean of the orders that begin with each of them, forwards and
// backwards. Those that are apart come first and explain nothing of it.
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

// reach is between which values of the axis the effect is, and how large.
func (e effect) reach(axis string) string {
	if _, ok := judge.Relative(1, 1+e.change); !ok {
		return fmt.Sprintf("least at %s, most at %s", placed(axis, e.low), e.high)
	}
	return fmt.Sprintf("%s from %s to %s", signed(e.change), placed(axis, e.low), e.high)
}

// matters says which axis matters most.
func (s *Study) matters(m Metric, d *duels) string {
	all := s.effects(m)
	if len(all.axes) == 0 {
		return ""
	}
	differ := d.differing()
	at := slices.IndexFunc(all.axes, func(e effect) bool { return differ[e.axis] })
	if at < 0 {
		return "cannot tell which axis matters: no two cells that differ in one axis alone are proven to differ"
	}
	parts := []float64{all.combined}
	for _, e := range all.axes {
		parts = append(parts, e.share)
	}
	whole := percents(parts)
	combined, shares := whole[0], whole[1:]

	first := all.axes[at]
	var text string
	combinedMost := all.combined > max(first.share, all.axes[0].share, 2*all.noise)
	crossed := combinedMost && d.crossing()
	if crossed {
		text = fmt.Sprintf("how the axes are combined matters most for %s: that is %d %% of the variance between the cells, since what an axis does depends on the others",
			m.worded(), combined)
	} else {
		name, most := s.Axes[first.axis].Name, "matters most"
		if at > 0 || combinedMost {
			most = "is what is proven to matter most"
		}
		text = fmt.Sprintf("%s %s for %s: %d %% of the variance between the cells, %s",
			name, most, m.worded(), shares[at], first.reach(name))
	}
	var rest []string
	for i, e := range all.axes {
		if i == at && !crossed {
			continue
		}
		other := fmt.Sprintf("%s %d %%", s.Axes[e.axis].Name, shares[i])
		if !differ[e.axis] {
			other += " (not proven)"
		}
		rest = append(rest, other)
	}
	if !crossed && combined > 0 {
		rest = append(rest, fmt.Sprintf("how they are combined, and noise, %d %%", combined))
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, ", ")
	}
	return text
}
