// Package breakdown divides the time of iterations into parts and finds out which trainers waited for which. The
// package uses only the measurements in a result.
package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// Metric is the type and name of a series.
type Metric struct{ Type, Name string }

// Part is one part of the iterations, with the time that all trainers together spent in it. Parts do not overlap.
type Part struct {
	Name    string
	TotalNS int64
}

// Exposed is the metric of the time during which a trainer is blocked until its reductions are done.
var Exposed = Metric{dataparallel.IterationMetric, dataparallel.Exposed}

// made is a part, with the metrics whose times it sums.
type made struct {
	name string
	of   []Metric
}

// parts lists all possible parts in order.
var parts = []made{
	{"data", []Metric{{dataparallel.IterationMetric, dataparallel.Data}}},
	{"lookup", []Metric{{"lookup_metric", "lookup"}}},
	{"forward", []Metric{{"forward_metric", "forward_pass"}}},
	{"backward", []Metric{{dataparallel.IterationMetric, dataparallel.Backward}}},
	{Exposed.Name, []Metric{Exposed, {dataparallel.IterationMetric, dataparallel.ExposedUpdate}}},
	{"optimizer", []Metric{{dataparallel.IterationMetric, dataparallel.Optimizer}}},
	{"parameters", []Metric{{dataparallel.IterationMetric, dataparallel.Parameters}}},
}

// Whole is the metric of an iteration, measured from when its data has been fetched.
var Whole = Metric{"batch_level_metric", "batch_all"}

// IsPart reports whether a metric belongs to one of the parts.
func IsPart(m Metric) bool {
	return slices.ContainsFunc(parts, func(p made) bool { return slices.Contains(p.of, m) })
}

// Breakdown divides the time of the iterations of all trainers.
type Breakdown struct {
	// Iterations is the number of iterations, summed over all trainers.
	Iterations int
	// WallNS is the total time of all iterations. For each trainer and epoch, the time runs from the start of the first
	// iteration to the end of the last one. WallNS does not include work between epochs, such as an evaluation.
	WallNS int64
	// Parts are the measured parts, in order.
	Parts []Part
	// Waiting is nil if no trainers wait for each other.
	Waiting *Waiting
	// Hook is nil if no hook recorded when it called its links.
	Hook *Hook

	reductionNS int64 // part of the exposed communication, summed over all trainers
}

// Of returns the breakdown of a result, or nil if no trainer measured a part of its iterations. Of reads one series at
// a time. Of needs 40 bytes per iteration, and 16 more for each bucket of a hook.
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

// RestNS returns the time of the iterations that belongs to no part.
func (b *Breakdown) RestNS() int64 {
	rest := b.WallNS
	for _, p := range b.Parts {
		rest -= p.TotalNS
	}
	return rest
}

// MeanMS divides a total over all iterations by their number. MeanMS returns the mean time of an iteration in ms.
func (b *Breakdown) MeanMS(totalNS int64) float64 {
	return float64(totalNS) / float64(b.Iterations) / 1e6
}

// Share returns a part's share of the total time, from 0 to 1.
func (b *Breakdown) Share(partNS int64) float64 { return float64(partNS) / float64(max(1, b.WallNS)) }

// trainer gives access to the data of one trainer in a result.
type trainer struct {
	r    *result.Result
	rank int
}

// series returns the series of a metric, or nil if it does not exist or is empty.
func (t trainer) series(m Metric) *result.Series {
	for _, s := range t.r.Series {
		if s.Rank == t.rank && s.Type == m.Type && s.Name == m.Name && s.Len() > 0 {
			return s
		}
	}
	return nil
}

// wall returns the number of the trainer's iterations and the total time of its epochs. The time of an epoch is from
// the start of the first measured part to the end of the last one.
func (t trainer) wall() (iterations int, ns int64) {
	first, last := t.ends()
	if first == nil {
		return 0, 0
	}
	var starts []int64 // start of each epoch, in order
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

// ends returns two series: the first part and the last part of the iterations. An iteration starts with a measurement
// of the first series and ends with a measurement of the last one.
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
