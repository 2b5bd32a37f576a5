package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// backward is the metric of a backward pass, in which a hook may block its trainer.
var backward = Metric{dataparallel.IterationMetric, dataparallel.Backward}

// IsHook reports whether a metric measures how long a hook holds a bucket before it calls a link.
func IsHook(m Metric) bool { return m.Type == record.HookMetric }

// Hook is the part of all trainers' iterations during which their hooks held buckets without having called a link.
type Hook struct {
	ExposedNS  int64 // within the exposed communication
	BackwardNS int64 // within the backward pass, blocked by the hook
	// The same for each iteration, trainer by trainer.
	Exposed, Backward []int64
}

// hookOf returns nil if no hook stamped its calls, as in results of older versions.
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

// hookNS returns, for each exposed communication of a trainer, how long its hook held buckets in it; nil if the
// hook stamps no calls.
func (t trainer) hookNS(exposed *result.Series) []int64 {
	return timeIn(exposed, t.hookSpans(record.HookBlocking, record.HookBeside))
}

// hookSpans returns the times of these series in order, without overlaps.
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

// timeIn returns how much of each measurement of a series lies in spans, or nil without spans. Both are in time
// order.
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

// at returns an element, or 0 if there are no times.
func at(ns []int64, i int) int64 {
	if i < len(ns) {
		return ns[i]
	}
	return 0
}
