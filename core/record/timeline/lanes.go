package timeline

import (
	"cmp"
	"slices"
)

// lanes places the spans of a rank on lanes and stores their positions in the items.
func (d *drawing) lanes(rank, track int) []Lane {
	lanes := []Lane{}
	for _, name := range []string{Compute, Communication, Work, Device, DeviceCopies} {
		var items []*item
		for _, i := range d.items {
			if i.rank == rank && i.lane == name {
				items = append(items, i)
			}
		}
		slices.SortStableFunc(items, func(a, b *item) int {
			return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(b.EndNS, a.EndNS),
				cmp.Compare(inner(a), inner(b)), cmp.Compare(a.Bucket, b.Bucket))
		})
		stacks := pack(items)
		first := len(lanes)
		for range stacks {
			lanes = append(lanes, Lane{Name: name})
		}
		for _, i := range items {
			l := &lanes[first+i.place.Lane]
			i.place = Place{Track: track, Lane: first + i.place.Lane, Span: len(l.Spans)}
			l.Spans = append(l.Spans, Span{i.Name, i.StartNS - d.startNS, i.EndNS - d.startNS, i.Iteration, i.Bucket})
		}
	}
	return lanes
}

func inner(i *item) int {
	if i.inner {
		return 1
	}
	return 0
}

// pack places each item on a lane. The items must be sorted by start. An item goes on the first lane where it lies
// within the span of its own bucket. If there is no such lane, the item goes on the first free lane.
func pack(items []*item) (lanes []*stack) {
	for _, i := range items {
		for _, l := range lanes {
			l.pop(i.StartNS)
		}
		lane := slices.IndexFunc(lanes, func(l *stack) bool { return i.inner && l.holds(i) })
		if lane < 0 {
			lane = slices.IndexFunc(lanes, func(l *stack) bool { return len(l.items) == 0 })
		}
		if lane < 0 {
			lane, lanes = len(lanes), append(lanes, &stack{})
		}
		lanes[lane].items = append(lanes[lane].items, i)
		i.place.Lane = lane
	}
	return lanes
}

// stack holds the open spans of a lane. Each span lies within the previous one.
type stack struct{ items []*item }

// pop removes the spans that have ended by ns.
func (s *stack) pop(ns int64) {
	for n := len(s.items); n > 0 && s.items[n-1].EndNS <= ns; n-- {
		s.items = s.items[:n-1]
	}
}

// holds reports whether an item lies within the open span of its bucket.
func (s *stack) holds(i *item) bool {
	if len(s.items) == 0 {
		return false
	}
	bucket, top := s.items[0], s.items[len(s.items)-1]
	return !bucket.inner && bucket.Bucket == i.Bucket && bucket.Iteration == i.Iteration && i.EndNS <= top.EndNS
}
