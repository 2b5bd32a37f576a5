package view

import (
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/timeline"
)

// timelineOf is the iteration whose time is the median, nil where none was stamped.
func timelineOf(r *result.Result) *Timeline {
	iteration, ok := timeline.MedianIteration(r)
	if !ok {
		return nil
	}
	t, err := timeline.Of(r, iteration, iteration+1)
	if err != nil { // there is nothing to be seen of it
		return nil
	}
	out := &Timeline{Iteration: iteration}
	micros := func(ns int64) float64 { return float64(ns) / 1e3 }
	for _, track := range t.Tracks {
		k := Track{Rank: track.Rank, Name: track.Name, Kind: track.Kind}
		for _, lane := range track.Lanes {
			l := TimelineLane{Name: lane.Name}
			for _, s := range lane.Spans {
				l.Spans = append(l.Spans, Span{s.Name, micros(s.StartNS), micros(s.EndNS), s.Bucket})
				out.Micros = max(out.Micros, micros(s.EndNS))
			}
			k.Lanes = append(k.Lanes, l)
		}
		out.Tracks = append(out.Tracks, k)
	}
	for _, a := range t.Arrows {
		bucket := t.Tracks[a.From.Track].Lanes[a.From.Lane].Spans[a.From.Span].Bucket
		out.Arrows = append(out.Arrows, Arrow{
			a.From.Track, a.From.Lane, micros(a.From.AtNS), a.To.Track, a.To.Lane, micros(a.To.AtNS), bucket,
		})
	}
	return out
}
