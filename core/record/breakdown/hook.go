package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// backward is the metric of a backward pass, in which a hook may block its trainer.
var backward = Metric{dataparallel.IterationMetric, dataparallel.Backward}

// IsHook says whether a metric is of how long a hook has a bucket before it calls a link for it.
func IsHook(m Metric) bool { return m.Type == record.HookMetric }

// Hook is what of the iterations of all trainers passed while their hooks had buckets for which they had
// not called a link yet.
type Hook struct {
	ExposedNS  int64 // of the exposed communication
	BackwardNS int64 // of the backward pass, which the hook blocked
	// The same of each iteration, trainer by trainer.
	Exposed, Backward []int64
}

// hookOf is nil where no hook stamps its calls, as in results of older versions.
func hookOf(r *result.Result) *Hook {
	var h *Hook
	for _, p := range r.Processes {
		if p.Kind != "trainer" {
			continue
		}
		t := trainer{r, p.Rank}
		exposed := t.hookNS(t.series(Exposed))
		blocked := timeIn(t.series(backward), t.hookSpans(record.HookBlocking))
		if exposed == nil && blocked == nil {
			continue
		}
		if h == nil {
			h = &Hook{}
		}
		for _, ns := range exposed {
			h.ExposedNS += ns
		}
		h.Exposed, h.Backward = append(h.Exposed, exposed...), append(h.Backward, blocked...)
		for _, ns := range blocked {
			h.BackwardNS += ns
		}
	}
	return h
}

// hookNS is what of each of a trainer's exposed communications its hook had buckets in; nil where it stamps none.
func (t trainer) hookNS(exposed *result.Series) []int64 {
	return timeIn(exposed, t.hookSpans(record.HookBlocking, record.HookBeside))
}

// hookSpans are the times of these series, in order and without overlaps.
func (t trainer) hookSpans(names ...string) (spans []span) {
	for _, s := range t.r.Series {
		if s.Rank != t.rank || s.Type != record.HookMetric || !slices.Contains(names, s.Name) {
			continue
		}
		for m := range s.All() {
			if m.DurationNS > 0 {
				spans = append(spans, span{m.StartNS, m.StartNS + m.DurationNS})
			}
		}
	}
	return union(spans)
}

// timeIn is how much of each measurement of a series is in spans; nil of none. Both are in the order of time.
func timeIn(s *result.Series, spans []span) (all []int64) {
	if s == nil || len(spans) == 0 {
		return nil
	}
	for m := range s.All() {
		from, end, ns := m.StartNS, m.StartNS+m.DurationNS, int64(0)
		for len(spans) > 0 && spans[0].endNS <= from {
			spans = spans[1:]
		}
		for _, one := range spans {
			if one.startNS >= end {
				break
			}
			ns += min(end, one.endNS) - max(from, one.startNS)
		}
		all = append(all, ns)
	}
	return all
}

// at is an element of times that may be none.
func at(ns []int64, i int) int64 {
	if i < len(ns) {
		return ns[i]
	}
	return 0
}
