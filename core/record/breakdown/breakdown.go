// Package breakdown says what the iterations of a run are made of and who waited for whom. It
// computes that from the measurements of a result alone.
package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// Metric is the type and the name of series.
type Metric struct{ Type, Name string }

// Part is one of the parts of an iteration, which do not overlap: the time that all trainers
// together spent in it.
type Part struct {
	Name    string
	TotalNS int64
}

// Exposed is the metric of a trainer that is blocked until its reductions are done.
var Exposed = Metric{dataparallel.IterationMetric, dataparallel.Exposed}

// made is a part and the metrics that it is made of.
type made struct {
	name string
	of   []Metric
}

// parts are the parts that there may be, in their order.
var parts = []made{
	{"data", []Metric{{dataparallel.IterationMetric, dataparallel.Data}}},
	{"lookup", []Metric{{"lookup_metric", "lookup"}}},
	{"forward", []Metric{{"forward_metric", "forward_pass"}}},
	{"backward", []Metric{{dataparallel.IterationMetric, dataparallel.Backward}}},
	{Exposed.Name, []Metric{Exposed, {dataparallel.IterationMetric, dataparallel.ExposedUpdate}}},
	{"optimizer", []Metric{{dataparallel.IterationMetric, dataparallel.Optimizer}}},
	{"parameters", []Metric{{dataparallel.IterationMetric, dataparallel.Parameters}}},
}

// Whole is the metric of an iteration from the end of its data on.
var Whole = Metric{"batch_level_metric", "batch_all"}

// IsPart says whether a metric is of a part of iterations.
func IsPart(m Metric) bool {
	return slices.ContainsFunc(parts, func(p made) bool { return slices.Contains(p.of, m) })
}

// Breakdown is what the iterations of all trainers are made of.
type Breakdown struct {
	// Iterations are counted on each trainer.
	Iterations int
	// WallNS is how long they took in all: on each trainer, of each epoch, from the start of
	// its first iteration to the end of its last one. What happens between epochs, such as
	// an evaluation, is no part of it.
	WallNS int64
	// Parts are those that were measured, in their order.
	Parts []Part
	// Waiting is nil where no trainers wait for each other.
	Waiting *Waiting
	// Hook is nil where no hook stamped when it called its links.
	Hook *Hook

	reductionNS int64 // of the exposed communication, on all trainers
}

// Of is the breakdown of a result, or nil if no trainer measured a part of its iterations. It
// goes through the series one by one; beside them it needs 40 bytes an iteration, and 16 for each
// bucket that a hook has in one.
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

// RestNS is what of the time is in no part.
func (b *Breakdown) RestNS() int64 {
	rest := b.WallNS
	for _, p := range b.Parts {
		rest -= p.TotalNS
	}
	return rest
}

// MeanMS is a time of all iterations as that of one, in ms.
func (b *Breakdown) MeanMS(totalNS int64) float64 {
	return float64(totalNS) / float64(b.Iterations) / 1e6
}

// Share is which share of the time a part of it is, from 0 to 1.
func (b *Breakdown) Share(partNS int64) float64 { return float64(partNS) / float64(max(1, b.WallNS)) }

// trainer is what a result has of one trainer.
type trainer struct {
	r    *result.Result
	rank int
}

// series is the one of a metric, or nil if there is none or nothing in it.
func (t trainer) series(m Metric) *result.Series {
	for _, s := range t.r.Series {
		if s.Rank == t.rank && s.Type == m.Type && s.Name == m.Name && s.Len() > 0 {
			return s
		}
	}
	return nil
}

// wall is how many iterations the trainer ran and how long its epochs were, from the start of
// the first part to the end of the last one.
func (t trainer) wall() (iterations int, ns int64) {
	first, last := t.ends()
	if first == nil {
		return 0, 0
	}
	var starts []int64 // of the epochs, in their order
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

// ends are the series whose measurements begin an iteration, and those that end it.
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
