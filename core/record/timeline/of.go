package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// Of is what happened in the iterations from up to but without to. They are those of the first trainer
// and of all that it waits for, which run them together. Of trainers and servers that have nothing to do
// with it, the timeline has what began meanwhile. What was not stamped is not there, nor is what a plugin
// stamped under types that psbench does not have.
func Of(r *result.Result, from, to int64) (*Timeline, error) {
	lead, count := leading(r)
	switch {
	case count == 0:
		return nil, errNothing
	case from < 0 || to <= from:
		return nil, fmt.Errorf(
			"the iterations from %d up to %d are none: the first must be 0 or more, and less than the end", from, to)
	case to > count:
		return nil, fmt.Errorf("iteration %d is not there: the run has the iterations 0 to %d", to-1, count-1)
	}
	d := &drawing{r: r, window: window{from: from, to: to}}
	for _, rank := range lead {
		d.lead(rank)
	}
	d.rest(lead)
	return d.timeline(), nil
}

var errNothing = errors.New("no trainer stamped an iteration")

// Count is how many iterations Of can choose from.
func Count(r *result.Result) int64 {
	_, count := leading(r)
	return count
}

// MedianIteration is the one whose time is the median, of those that Of can choose from; ok says whether
// there is any.
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

// leading are the trainers that run their iterations together with the first one, and how many all of
// them did.
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

// reference is the series with a measurement for each iteration that the trainer ended, or nil.
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
