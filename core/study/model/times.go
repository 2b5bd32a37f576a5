package model

import (
	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
)

// Straggler is the trainer that made the other trainers of a run wait the longest.
type Straggler struct {
	Rank   int
	Share  float64 // share of the iterations in which it was last, from 0 to 1
	CostMS float64 // straggler wait that it caused, in ms per iteration
	Host   string  // host that it ran on; "" if the run used one host
}

// TimeMetric pairs a part of an iteration with the metric of its time.
type TimeMetric struct{ Part, Metric string }

// TimeMetrics lists the parts of breakdown.Times, which add up to the whole iteration. The codec time, which
// hooks record separately, comes last.
var TimeMetrics = []TimeMetric{
	{breakdown.DataTime, "time_data"}, {breakdown.ComputeTime, "time_compute"}, {breakdown.HookTime, "time_hook"},
	{breakdown.WaitingTime, "time_waiting"}, {breakdown.TransferTime, "time_transfer"},
	{breakdown.ReductionTime, "time_reduction"}, {breakdown.UnaccountedFor, "time_rest"},
	{"codec", "time_codec"},
}

// takeTimes sets the run's time metrics, straggler and clock error.
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
