package run

import (
	"cmp"
	"slices"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/proto"
)

var passNames = map[proto.Pass]string{proto.Pass_PASS_WARM_UP: result.WarmUp, proto.Pass_PASS_MEASURED: result.Measured}

// works are what the trainers did of the last pass, without those that are not heard of.
func (r *run) works() []*proto.Work {
	var works []*proto.Work
	for _, s := range r.processes.trainers {
		for _, reply := range s.collected.replies {
			if w := reply.GetWork(); w.GetStartNs() > 0 {
				works = append(works, w)
			}
		}
	}
	return works
}

// throughput is that of a pass, or of as much of it as was done: samples of iterations
// that ended, from the first start to the last end. Trainers evaluate at the same time,
// so the longest of their evaluations counts for all.
func throughput(works []*proto.Work) result.Throughput {
	var samples, endNS, evaluatedNS int64
	for _, w := range works {
		samples += w.GetSamples()
		endNS, evaluatedNS = max(endNS, w.GetEndNs()), max(evaluatedNS, w.GetEvaluatedNs())
	}
	if samples == 0 {
		return result.Throughput{}
	}
	return result.NewThroughput(samples, float64(endNS-firstStart(works)-evaluatedNS)/1e9)
}

// firstStart is in ns of comm.Now, or 0 if no trainer started.
func firstStart(works []*proto.Work) int64 {
	if len(works) == 0 {
		return 0
	}
	return slices.MinFunc(works, func(a, b *proto.Work) int { return cmp.Compare(a.GetStartNs(), b.GetStartNs()) }).GetStartNs()
}

// startMS is the time until the first iteration.
func (r *run) startMS(works []*proto.Work) float64 {
	start := firstStart(works)
	if start == 0 {
		return 0
	}
	return float64(start-r.o.StartedNS) / 1e6
}
