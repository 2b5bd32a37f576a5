package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/judge"
)

// effect is what an axis does to the medians of cells.
type effect struct {
	axis  int
	share float64 // of the variance between the cells, that between the axis's values
	// low and high are its values with the least and the largest mean, and change is from one to the other.
	low, high string
	change    float64
}

// effects are those of the axes that have several values, the largest first; nil where medians are not
// above 0, or do not differ.
func (s *Study) effects(m Metric) []effect {
	type point struct {
		cell *Cell
		y    float64
	}
	var points []point
	mean := 0.0
	for _, c := range s.Cells {
		median := judge.Of(s.resolved(c).Of(m.Name)).Median
		if math.IsNaN(median) {
			continue
		}
		if median <= 0 {
			return nil
		}
		points = append(points, point{c, math.Log(median)})
		mean += math.Log(median)
	}
	mean /= float64(len(points))
	total := 0.0
	for _, p := range points {
		total += (p.y - mean) * (p.y - mean)
	}
	if total == 0 || len(points) < 2 {
		return nil
	}
	var effects []effect
	for i, a := range s.Axes {
		e := effect{axis: i}
		lowest, highest, seen := math.Inf(1), math.Inf(-1), 0
		for _, value := range a.Values {
			sum, n := 0.0, 0
			for _, p := range points {
				if p.cell.Values[i] == value {
					sum, n = sum+p.y, n+1
				}
			}
			if n == 0 {
				continue
			}
			seen++
			y := sum / float64(n)
			e.share += float64(n) * (y - mean) * (y - mean) / total
			if y < lowest {
				lowest, e.low = y, value
			}
			if y > highest {
				highest, e.high = y, value
			}
		}
		if seen > 1 {
			e.change = math.Expm1(highest - lowest)
			effects = append(effects, e)
		}
	}
	slices.SortStableFunc(effects, func(a, b effect) int { return cmp.Compare(b.share, a.share) })
	return effects
}

// matters says which axis matters most.
func (s *Study) matters(m Metric) string {
	effects := s.effects(m)
	if len(effects) == 0 {
		return ""
	}
	var proven []effect
	y := s.yardstick(m)
	for _, e := range effects {
		if slices.ContainsFunc(s.slices(e.axis, y, nil), func(l slice) bool { return l.differs }) {
			proven = append(proven, e)
		}
	}
	if len(proven) == 0 {
		return "cannot tell which axis matters: no two cells that differ in one axis alone are proven to differ"
	}
	first := proven[0]
	name := s.Axes[first.axis].Name
	text := fmt.Sprintf("%s matters most for %s: %.0f %% of the variance between the cells, %s from %s=%s to %s",
		name, m.Name, 100*first.share, signed(first.change), name, first.low, first.high)
	var others []string
	for _, e := range effects {
		if e.axis == first.axis {
			continue
		}
		other := fmt.Sprintf("%s %.0f %%", s.Axes[e.axis].Name, 100*e.share)
		if !slices.Contains(proven, e) {
			other += " (not proven)"
		}
		others = append(others, other)
	}
	if len(others) > 0 {
		text += "; " + strings.Join(others, ", ")
	}
	return text
}

// slice is the cells that differ in one axis alone.
type slice struct {
	values  []string // of the other axes; that of the axis itself means nothing
	winner  string   // its value that is proven to be better than all others, "" without one
	differs bool     // two of its cells are proven to differ
}

// slices compares the cells along an axis, but those that are barred, those of all slices together.
func (s *Study) slices(axis int, y yardstick, barred map[*Cell]bool) []slice {
	m := y.metric
	var order []string
	members := map[string][]*Cell{} // by the values of the other axes
	for _, c := range s.Cells {
		if run := s.resolved(c); len(run.Of(m.Name)) == 0 || barred[run] {
			continue
		}
		values := slices.Clone(c.Values)
		values[axis] = ""
		key := strings.Join(values, "\x00")
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], c)
	}
	var out []slice
	var pairs []judge.Pair
	var of []int // by pair: its place in out
	for _, key := range order {
		cells := members[key]
		best := cells[0]
		for _, c := range cells {
			if m.beats(judge.Of(s.resolved(c).Of(m.Name)).Median, judge.Of(s.resolved(best).Of(m.Name)).Median) {
				best = c
			}
		}
		distinct := 0
		for _, c := range cells {
			if c != best && s.resolved(c) != s.resolved(best) {
				distinct++
				pairs, of = append(pairs, judge.Pair{Old: s.resolved(c).Of(m.Name), New: s.resolved(best).Of(m.Name)}), append(of, len(out))
			}
		}
		if distinct > 0 {
			out = append(out, slice{values: best.Values, winner: best.Values[axis]})
		}
	}
	for i, change := range y.compare(pairs) {
		l := &out[of[i]]
		if change.Proven() {
			l.differs = true
		} else {
			l.winner = ""
		}
	}
	return out
}

// changes says of each axis whose best value is known somewhere where it is which, along the other axes.
func (s *Study) changes(m Metric, contests []*contest) []string {
	var texts []string
	barred := map[*Cell]bool{} // which cannot be best
	for _, o := range contests {
		for _, c := range o.barred {
			barred[c] = true
		}
	}
	y := s.yardstick(m)
	for axis, a := range s.Axes {
		if isWork(a.Name) || len(a.Values) < 2 {
			continue
		}
		all := s.slices(axis, y, barred)
		if len(all) < 2 {
			continue
		}
		var winners []string
		wins := map[string][]slice{}
		unknown := 0
		for _, l := range all {
			if l.winner == "" {
				unknown++
				continue
			}
			if wins[l.winner] == nil {
				winners = append(winners, l.winner)
			}
			wins[l.winner] = append(wins[l.winner], l)
		}
		if len(winners) == 0 {
			continue
		}
		var text string
		if len(winners) == 1 {
			text = fmt.Sprintf("the best %s is %s in %d of %d combinations of the other axes", a.Name, winners[0], len(wins[winners[0]]), len(all))
		} else {
			var parts []string
			for _, w := range winners {
				parts = append(parts, fmt.Sprintf("%s %s", w, s.where(axis, w, wins)))
			}
			text = fmt.Sprintf("the best %s changes: %s", a.Name, strings.Join(parts, ", "))
		}
		if unknown > 0 {
			text += fmt.Sprintf("; in %d it cannot be told", unknown)
		}
		texts = append(texts, text)
	}
	return texts
}

// where says in which slices a value of an axis wins: by the values of another axis at which no other
// one does, or else by name.
func (s *Study) where(axis int, winner string, wins map[string][]slice) string {
	for other, a := range s.Axes {
		if other == axis || len(a.Values) < 2 {
			continue
		}
		own := valuesOn(other, wins[winner])
		overlap := false
		for w, list := range wins {
			overlap = overlap || w != winner && slices.ContainsFunc(valuesOn(other, list), func(v string) bool { return slices.Contains(own, v) })
		}
		if !overlap {
			return fmt.Sprintf("where %s=%s", a.Name, strings.Join(own, " or "))
		}
	}
	var names []string
	for _, l := range wins[winner] {
		var parts []string
		for i, a := range s.Axes {
			if i != axis && len(a.Values) > 1 {
				parts = append(parts, a.Name+"="+l.values[i])
			}
		}
		names = append(names, strings.Join(parts, " "))
	}
	return "at " + named(names)
}

// valuesOn are the values of slices on an axis, each once.
func valuesOn(axis int, list []slice) (values []string) {
	for _, l := range list {
		if !slices.Contains(values, l.values[axis]) {
			values = append(values, l.values[axis])
		}
	}
	return values
}
