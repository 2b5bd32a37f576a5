package model

import (
	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// Straggler is the trainer that cost the others of a run most.
type Straggler struct {
	Rank   int
	Share  float64 // of the iterations, in which it was last
	CostMS float64 // per iteration
	Host   string  // where it ran; "" of runs on one host
}

// TimeMetric is a metric of the time that iterations spend on a part of them.
type TimeMetric struct{ Part, Metric string }

// TimeMetrics are the parts that breakdown.Times has, which add up to the whole, and what hooks stamp beside.
var TimeMetrics = []TimeMetric{
	{breakdown.DataTime, "time_data"}, {breakdown.ComputeTime, "time_compute"}, {breakdown.HookTime, "time_hook"},
	{breakdown.WaitingTime, "time_waiting"}, {breakdown.TransferTime, "time_transfer"},
	{breakdown.ReductionTime, "time_reduction"}, {breakdown.UnaccountedFor, "time_rest"},
	{"codec", "time_codec"},
}

// takeTimes notes where the time of the iterations of a result goes.
func (run *Run) takeTimes(b *breakdown.Breakdown, r *result.Result) {
	if b == nil {
		return
	}
	times := b.Times()
	if codecNS := breakdown.CodecNS(r); codecNS > 0 {
		times = append(times, breakdown.Part{Name: "codec", TotalNS: codecNS})
	}
	if b.Waiting != nil {
		run.BoundMS = float64(b.Waiting.BoundNS) / 1e6
	}
	for _, p := range times {
		for _, t := range TimeMetrics {
			if t.Part == p.Name {
				run.Values[t.Metric] = b.MeanMS(p.TotalNS)
			}
		}
	}
	if s, ok := b.Straggler(); ok {
		run.Values["time_straggler"] = float64(s.AllNS) / 1e6
		run.Straggler = &Straggler{s.Rank, float64(s.Times) / float64(max(1, s.Iterations)), float64(s.CostNS) / 1e6,
			r.ClockOf(s.Rank).Host}
	}
}
