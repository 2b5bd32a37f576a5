package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// window is the range of iterations that are drawn, and the time in which they ran.
type window struct {
	from, to       int64
	startNS, endNS int64 // 0 while the window is empty
}

func (w window) has(ns int64) bool { return w.startNS <= ns && ns < w.endNS }

func (w *window) include(i *item) {
	if w.startNS == 0 && w.endNS == 0 {
		w.startNS, w.endNS = i.StartNS, i.EndNS
	}
	w.startNS, w.endNS = min(w.startNS, i.StartNS), max(w.endNS, i.EndNS)
}

// drawing is a timeline under construction.
type drawing struct {
	r *result.Result
	window
	items []*item
}

// lead adds the iterations of a trainer that are in the window. lead extends the time of the window to include them.
func (d *drawing) lead(rank int) {
	for _, i := range d.of(rank, "trainer", d.chosen(rank)) {
		d.include(i)
		d.items = append(d.items, i)
	}
}

// chosen returns the iterations of a trainer that are in the window.
func (d *drawing) chosen(rank int) iterations {
	it := iterations{from: d.from, to: d.to, before: fetches(d.r, rank), of: map[sdk.Key]int64{},
		last: map[int64]int64{}}
	place, before := int64(0), sdk.Key{}
	for m := range reference(d.r, rank).All() {
		if d.from < place && place <= d.to && m.Key.A != before.A {
			it.last[before.A] = place - 1
		}
		if place == d.to {
			return it
		}
		if place >= d.from {
			it.of[m.Key] = place
		}
		place, before = place+1, m.Key
	}
	it.last[before.A] = place - 1
	return it
}

// meanwhile returns the iterations of a trainer that may have begun during the window's time.
func (d *drawing) meanwhile(rank int) iterations {
	it := iterations{from: math.MaxInt64, before: fetches(d.r, rank), of: map[sdk.Key]int64{}, last: map[int64]int64{}}
	s := reference(d.r, rank)
	if s == nil {
		return it
	}
	place := int64(0)
	for m := range s.All() {
		if m.StartNS+m.DurationNS >= d.startNS {
			it.from, it.to = min(it.from, place), place+1
			it.of[m.Key] = place
			it.last[m.Key.A] = place
			if m.StartNS >= d.endNS {
				break
			}
		}
		place++
	}
	return it
}

// rest adds all ranks that lead has not added.
func (d *drawing) rest(lead []int) {
	for _, p := range d.r.Processes {
		switch {
		case p.Kind == "trainer" && !slices.Contains(lead, p.Rank):
			d.during(d.of(p.Rank, p.Kind, d.meanwhile(p.Rank)))
		case p.Kind == "server":
			trainers := trainersOf(d.r, p.Rank)
			it := iterations{from: math.MinInt64, to: math.MaxInt64}
			if len(trainers) > 0 {
				it.before = fetches(d.r, trainers[0])
			}
			together := !slices.ContainsFunc(trainers, func(t int) bool { return !slices.Contains(lead, t) })
			if together {
				it.from, it.to = d.from, d.to
			}
			for _, i := range d.of(p.Rank, p.Kind, it) {
				// With several servers, or with the clocks of several hosts, work may lie partly outside the window.
				if together && i.keys != ofNeither {
					d.include(i)
					d.items = append(d.items, i)
					continue
				}
				d.during([]*item{i})
			}
		}
	}
}

// during adds those items that began in the window's time.
func (d *drawing) during(items []*item) {
	for _, i := range items {
		if d.has(i.StartNS) {
			d.items = append(d.items, i)
		}
	}
}

// of returns the spans of a rank that belong to the given iterations.
func (d *drawing) of(rank int, kind string, it iterations) (items []*item) {
	called := d.called(rank, it)
	for _, s := range d.r.Series {
		if s.Rank != rank {
			continue
		}
		how, ok := sortOf(kind, s)
		if !ok {
			continue
		}
		for m := range s.All() {
			i, ok := it.item(rank, how, m)
			if !ok {
				continue
			}
			if ns, stamped := called[m.Key]; stamped && how.part == reduction {
				i.calledNS = min(max(i.StartNS, ns), i.EndNS)
			}
			items = append(items, i)
		}
	}
	return items
}

// called returns when a trainer's hook called its link in the given iterations. The keys are {batch},{bucket}.
func (d *drawing) called(rank int, it iterations) map[sdk.Key]int64 {
	called := map[sdk.Key]int64{}
	for _, s := range d.r.Series {
		if s.Rank != rank || !breakdown.IsHook(breakdown.Metric{Type: s.Type, Name: s.Name}) {
			continue
		}
		for m := range s.All() {
			if n := m.Key.A - it.before; it.from <= n && n < it.to {
				called[m.Key] = max(called[m.Key], m.StartNS+m.DurationNS)
			}
		}
	}
	return called
}

// timeline builds the timeline from the drawing.
func (d *drawing) timeline() *Timeline {
	t := &Timeline{StartNS: d.startNS, Tracks: []Track{}, Arrows: []Arrow{}}
	d.callers()
	ranks := slices.DeleteFunc(slices.Clone(d.r.Processes),
		func(p result.Process) bool { return p.Kind != "trainer" && p.Kind != "server" })
	slices.SortStableFunc(ranks, func(a, b result.Process) int { return cmp.Compare(a.Rank, b.Rank) })
	slices.SortStableFunc(ranks, func(a, b result.Process) int { return -cmp.Compare(a.Kind, b.Kind) })
	for _, p := range ranks {
		t.Tracks = append(t.Tracks,
			Track{Rank: p.Rank, Name: d.title(p), Kind: p.Kind, Lanes: d.lanes(p.Rank, len(t.Tracks))})
	}
	t.Arrows = append(t.Arrows, d.arrows()...)
	return t
}

// title returns the name of a rank's process. With several hosts, title adds the host and the possible error of its
// timestamps.
func (d *drawing) title(p result.Process) string {
	switch ns := d.r.ClockOf(p.Rank).BoundNS; {
	case p.Host == "":
		return p.Name
	case ns == 0:
		return p.Name + " on " + p.Host
	default:
		return fmt.Sprintf("%s on %s (± %.3g µs)", p.Name, p.Host, float64(ns)/1e3)
	}
}

// callers replaces indices of trainers by their ranks, and adds the trainers' names to the names of the spans.
func (d *drawing) callers() {
	trainers := trainersOf(d.r, -1)
	names := map[int]string{}
	for _, p := range d.r.Processes {
		if p.Kind == "trainer" {
			names[p.Rank] = p.Name
		}
	}
	for _, i := range d.items {
		if i.keys != ofTrainer {
			continue
		}
		place := i.trainer
		i.trainer = -1
		if place >= 0 && place < len(trainers) {
			i.trainer = trainers[place]
			i.Name += " of " + names[i.trainer]
		}
	}
}

// trainersOf returns the trainers of a server in rank order. trainersOf returns all trainers if the server holds tables
// or server is negative.
func trainersOf(r *result.Result, server int) (ranks []int) {
	all := server < 0 ||
		slices.ContainsFunc(r.Series,
			func(s *result.Series) bool { return s.Rank == server && s.Type == "embedding_metric" && s.Len() > 0 })
	for _, p := range r.Processes {
		if p.Kind == "trainer" && (all || breakdown.ServerOf(r, p.Rank) == server) {
			ranks = append(ranks, p.Rank)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// fetches returns the number of batches in which a trainer fetched the model before the first iteration. Such batches
// are not iterations.
func fetches(r *result.Result, rank int) int64 {
	for _, s := range r.Series {
		if s.Rank == rank && s.Type == "batch_update_metric" && s.Name == "fetching the model" {
			return int64(s.Len())
		}
	}
	return 0
}
