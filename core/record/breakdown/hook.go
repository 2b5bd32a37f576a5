package breakdown

import (
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// backward is the metric of the backward pass. A hook may block its trainer during this pass.
var backward = Metric{dataparallel.IterationMetric, dataparallel.Backward}

// IsHook reports whether a metric measures for how long a hook holds a bucket before it calls a link.
func IsHook(m Metric) bool { return m.Type == record.HookMetric }

// Hook is the part of the iterations during which hooks held buckets but had not yet called a link.
type Hook struct {
	ExposedNS  int64 // within the exposed communication, over all trainers
	BackwardNS int64 // within the backward pass while the hook blocked it, over all trainers
	// Exposed and Backward list these times for each iteration, in order of trainers.
	Exposed, Backward []int64
}

// hookOf returns nil if no hook recorded its calls. Results of older versions contain no such calls.
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

// hookNS returns how long a trainer's hook held buckets during each measurement of the exposed communication. hookNS
// returns nil if the hook records no calls.
func (t trainer) hookNS(exposed *result.Series) []int64 {
	return timeIn(exposed, t.hookSpans(record.HookBlocking, record.HookBeside))
}

// hookSpans returns the spans of the named series, sorted and free of overlaps.
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

// timeIn returns, for each measurement of s, how much of it lies in spans. timeIn returns nil if spans is empty. Both s
// and spans must be sorted by time.
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

// at returns element i, or 0 if ns is too short.
func at(ns []int64, i int) int64 {
	if i < len(ns) {
		return ns[i]
	}
	return 0
}
