package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// Of returns the timeline of a range of iterations. The range begins with from and ends before to. Iterations are
// counted on the first trainer, which runs them together with all trainers that it waits for. For all other trainers
// and servers, the timeline contains the spans that began in the same time. The timeline does not contain work that was
// not recorded, or series of types that psbench does not know.
func Of(r *result.Result, from, to int64) (*Timeline, error) {
	lead, count := leading(r)
	switch {
	case count == 0:
		return nil, errNothing
	case from < 0 || to <= from:
		return nil, fmt.Errorf(
			"the iterations from %d up to %d are an empty range: the first must be 0 or more and below the end", from, to)
	case to > count:
		return nil, fmt.Errorf("iteration %d does not exist: the run has the iterations 0 to %d", to-1, count-1)
	}
	d := &drawing{r: r, window: window{from: from, to: to}}
	for _, rank := range lead {
		d.lead(rank)
	}
	d.rest(lead)
	return d.timeline(), nil
}

var errNothing = errors.New("no trainer stamped an iteration")

// Count returns the number of iterations that Of can draw.
func Count(r *result.Result) int64 {
	_, count := leading(r)
	return count
}

// MedianIteration returns the iteration with the median time among those that Of can draw. ok is false if there are
// none.
func MedianIteration(r *result.Result) (iteration int64, ok bool) {
	_, count := leading(r)
	if count == 0 {
		return 0, false
	}
	sets := breakdown.Iterations(r)
	if len(sets) == 0 {
		return 0, false
	}
	list := sets[0]
	order := make([]int, min(len(list), int(count)))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[a].NS, list[b].NS) })
	return int64(order[(len(order)-1)/2]), true
}

// leading returns the first trainer and the trainers that run their iterations together with it. count is the number of
// iterations that all of them ran.
func leading(r *result.Result) (ranks []int, count int64) {
	for _, set := range breakdown.Sets(r) {
		for place, rank := range set {
			s := reference(r, rank)
			if s == nil {
				count = 0
				break
			}
			if n := int64(s.Len()); place == 0 || n < count {
				count = n
			}
		}
		if count > 0 {
			return set, count
		}
	}
	return nil, 0
}

// reference returns a series that has a measurement for each finished iteration of the trainer, or nil.
func reference(r *result.Result, rank int) (longest *result.Series) {
	for _, s := range r.Series {
		m := breakdown.Metric{Type: s.Type, Name: s.Name}
		switch {
		case s.Rank != rank || s.Len() == 0:
		case m == breakdown.Whole:
			return s
		case breakdown.IsPart(m) && (longest == nil || s.Len() > longest.Len()):
			longest = s
		}
	}
	return longest
}
