// Package breakdown divides the time of iterations into parts and finds out who waited for whom, from the
// measurements of a result alone.
package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// Metric is the type and name of a series.
type Metric struct{ Type, Name string }

// Part is one part of an iteration and the time that all trainers together spent in it. Parts do not overlap.
type Part struct {
	Name    string
	TotalNS int64
}

// Exposed is the metric of the time in which a trainer is blocked until its reductions are done.
var Exposed = Metric{dataparallel.IterationMetric, dataparallel.Exposed}

// made is a part and the metrics that make it up.
type made struct {
	name string
	of   []Metric
}

// parts lists all possible parts in their order.
var parts = []made{
	{"data", []Metric{{dataparallel.IterationMetric, dataparallel.Data}}},
	{"lookup", []Metric{{"lookup_metric", "lookup"}}},
	{"forward", []Metric{{"forward_metric", "forward_pass"}}},
	{"backward", []Metric{{dataparallel.IterationMetric, dataparallel.Backward}}},
	{Exposed.Name, []Metric{Exposed, {dataparallel.IterationMetric, dataparallel.ExposedUpdate}}},
	{"optimizer", []Metric{{dataparallel.IterationMetric, dataparallel.Optimizer}}},
	{"parameters", []Metric{{dataparallel.IterationMetric, dataparallel.Parameters}}},
}

// Whole is the metric of an iteration from the moment its data is there.
var Whole = Metric{"batch_level_metric", "batch_all"}

// IsPart reports whether a metric belongs to a part of iterations.
func IsPart(m Metric) bool {
	return slices.ContainsFunc(parts, func(p made) bool { return slices.Contains(p.of, m) })
}

// Breakdown divides the time of the iterations of all trainers.
type Breakdown struct {
	// Iterations counts the iterations of all trainers.
	Iterations int
	// WallNS is the total time of all iterations. For each trainer and epoch it runs from the start of the first
	// iteration to the end of the last one. Work between epochs, such as an evaluation, is not in it.
	WallNS int64
	// Parts are the measured parts in their order.
	Parts []Part
	// Waiting is nil if no trainers wait for each other.
	Waiting *Waiting
	// Hook is nil if no hook stamped its calls of links.
	Hook *Hook

	reductionNS int64 // within the exposed communication of all trainers
}

// Of returns the breakdown of a result, or nil if no trainer measured a part of its iterations. It reads one series
// at a time and needs 40 bytes per iteration, plus 16 bytes per bucket of a hook.
func Of(r *result.Result) *Breakdown {
	b := &Breakdown{}
	totals := make([]int64, len(parts))
	measured := make([]bool, len(parts))
	for _, p := range r.Processes {
		if p.Kind != "trainer" {
			continue
		}
		t := trainer{r, p.Rank}
		iterations, wallNS := t.wall()
		b.Iterations += iterations
		b.WallNS += wallNS
		for i, part := range parts {
			for _, metric := range part.of {
				if s := t.series(metric); s != nil {
					measured[i] = true
					totals[i] += total(s)
				}
			}
		}
	}
	for i, part := range parts {
		if measured[i] {
			b.Parts = append(b.Parts, Part{part.name, totals[i]})
		}
	}
	if b.Iterations == 0 {
		return nil
	}
	b.Waiting = waiting(r)
	b.Hook = hookOf(r)
	b.reductionNS = reductionNS(r, b.Waiting)
	return b
}

// RestNS returns the time that belongs to no part.
func (b *Breakdown) RestNS() int64 {
	rest := b.WallNS
	for _, p := range b.Parts {
		rest -= p.TotalNS
	}
	return rest
}

// MeanMS converts a total over all iterations into the mean of one iteration, in ms.
func (b *Breakdown) MeanMS(totalNS int64) float64 {
	return float64(totalNS) / float64(b.Iterations) / 1e6
}

// Share returns a part's share of the time, from 0 to 1.
func (b *Breakdown) Share(partNS int64) float64 { return float64(partNS) / float64(max(1, b.WallNS)) }

// trainer holds the data of one trainer in a result.
type trainer struct {
	r    *result.Result
	rank int
}

// series returns the series of a metric, or nil if there is none or it is empty.
func (t trainer) series(m Metric) *result.Series {
	for _, s := range t.r.Series {
		if s.Rank == t.rank && s.Type == m.Type && s.Name == m.Name && s.Len() > 0 {
			return s
		}
	}
	return nil
}

// wall returns the number of iterations of the trainer and the total length of its epochs, each from the start of
// its first part to the end of its last one.
func (t trainer) wall() (iterations int, ns int64) {
	first, last := t.ends()
	if first == nil {
		return 0, 0
	}
	var starts []int64 // of the epochs in order
	epoch := int64(-1)
	for m := range first.All() {
		if m.Key.A != epoch {
			epoch, starts = m.Key.A, append(starts, m.StartNS)
		}
	}
	epoch = -1
	place, endNS := -1, int64(0)
	for m := range last.All() {
		if m.Key.A != epoch {
			if place+1 == len(starts) {
				break
			}
			epoch, place = m.Key.A, place+1
			endNS = starts[place]
		}
		ns += m.StartNS + m.DurationNS - endNS
		endNS = m.StartNS + m.DurationNS
		iterations++
	}
	return iterations, ns
}

// ends returns the series whose measurements begin an iteration, and the series whose measurements end it.
func (t trainer) ends() (first, last *result.Series) {
	for _, part := range parts {
		for _, metric := range part.of {
			if s := t.series(metric); s != nil {
				if first == nil {
					first = s
				}
				last = s
			}
		}
	}
	if s := t.series(Whole); s != nil {
		last = s
	}
	return first, last
}

func total(s *result.Series) (ns int64) {
	for m := range s.All() {
		ns += m.DurationNS
	}
	return ns
}
