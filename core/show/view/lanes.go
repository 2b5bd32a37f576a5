package view

import (
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/timeline"
	"github.com/psbench/psbench/internal/numeral"
)

// lanesOf returns the iterations of each trainer in at most most spans. Times have five significant digits.
func lanesOf(r *result.Result, most int) []Lane {
	var lanes []Lane
	var series [][]breakdown.Timed
	start := int64(math.MaxInt64)
	for _, p := range r.Processes {
		if p.Kind != "trainer" {
			continue
		}
		if list := breakdown.IterationsOf(r, p.Rank); len(list) > 0 {
			lanes, series = append(lanes, Lane{Rank: p.Rank, Name: p.Name}), append(series, list)
			start = min(start, list[0].StartNS())
		}
	}
	for i, list := range series {
		lanes[i].sample(list, start, most)
	}
	return lanes
}

// sample splits the iterations into spans of equal size, and takes the shortest and the longest of each span.
func (l *Lane) sample(list []breakdown.Timed, start int64, most int) {
	l.Iterations = len(list)
	l.Each = max(1, (len(list)+most-1)/most)
	for span := range slices.Chunk(list, l.Each) {
		low, high := span[0].NS, span[0].NS
		for _, it := range span {
			low, high = min(low, it.NS), max(high, it.NS)
		}
		l.Seconds = append(l.Seconds, rounded(float64(span[0].StartNS()-start)/1e9, digits))
		l.MinMS = append(l.MinMS, rounded(milliseconds(low), digits))
		l.MaxMS = append(l.MaxMS, rounded(milliseconds(high), digits))
	}
}

// quantiles is the number of quantiles, including the shortest and the longest iteration.
const quantiles = 201

// quantilesOf returns the quantiles of the iteration times of all trainers together, in ms.
func quantilesOf(r *result.Result) []float64 {
	var all []int64
	for _, p := range r.Processes {
		if p.Kind == "trainer" {
			for _, it := range breakdown.IterationsOf(r, p.Rank) {
				all = append(all, it.NS)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	out := make([]float64, quantiles)
	for i := range out {
		place := math.Round(float64(i) / (quantiles - 1) * float64(len(all)-1))
		out[i] = rounded(milliseconds(all[int(place)]), digits)
	}
	return out
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// digits is the number of significant digits of times in pictures.
const digits = 5

// rounded rounds x to so many significant digits. It returns x unchanged if x is not finite.
func rounded(x float64, digits int) float64 {
	if x == 0 || !numeral.Finite(x) {
		return x
	}
	exponent := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if exponent < 0 { // keep all digits of the integer part
		return math.Round(x)
	}
	scale := math.Pow10(min(exponent, 300))
	return math.Round(x*scale) / scale
}

// timelineOf returns the iteration with the median time, or nil if no times were recorded.
func timelineOf(r *result.Result) *Timeline {
	iteration, ok := timeline.MedianIteration(r)
	if !ok {
		return nil
	}
	t, err := timeline.Of(r, iteration, iteration+1)
	if err != nil { // there is nothing to draw
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
