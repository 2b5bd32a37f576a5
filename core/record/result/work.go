package result

import (
	"cmp"
	"slices"
)

// Work is what a trainer did in a pass, or in as much of it as was done.
type Work struct {
	WarmUp      bool // or else the measured pass
	Rank        int
	Samples     int64 // of the iterations that ended
	StartNS     int64 // of the first iteration, on the clock of the series
	EndNS       int64 // of the pass, or of the last iteration that ended in it
	EvaluatedNS int64 // of the time between, spent on held-out samples
}

// ThroughputOf is that of a pass, or of as much of it as was done: samples of iterations
// that ended, from the first start to the last end. Trainers evaluate at the same time,
// so the longest of their evaluations counts for all.
func ThroughputOf(works []Work) Throughput {
	var samples, endNS, evaluatedNS int64
	for _, w := range works {
		samples += w.Samples
		endNS, evaluatedNS = max(endNS, w.EndNS), max(evaluatedNS, w.EvaluatedNS)
	}
	if samples == 0 {
		return Throughput{}
	}
	return NewThroughput(samples, float64(endNS-firstStart(works)-evaluatedNS)/1e9)
}

// firstStart is 0 if no trainer started.
func firstStart(works []Work) int64 {
	if len(works) == 0 {
		return 0
	}
	return slices.MinFunc(works, func(a, b Work) int { return cmp.Compare(a.StartNS, b.StartNS) }).StartNS
}

// trainersOf are the ranks that did works.
func trainersOf(works []Work) (ranks []int) {
	for _, w := range works {
		ranks = append(ranks, w.Rank)
	}
	return ranks
}

// workOf is that of the result's pass.
func (r *Result) workOf() []Work {
	return slices.DeleteFunc(slices.Clone(r.Works), func(w Work) bool { return w.WarmUp != (r.Pass == WarmUp) })
}

// Compute makes throughput, start, evaluation, noise and the share of checks of what was recorded
// for them. What was not recorded, as by an older psbench, leaves them as they are.
func (r *Result) Compute() {
	if len(r.Works) > 0 {
		r.Throughput = ThroughputOf(r.workOf())
		if r.Throughput.Seconds > 0 {
			r.Throughput.SecondsBound = float64(r.ApartNS(trainersOf(r.workOf()))) / 1e9
		}
		r.StartMS, r.StartBoundMS = 0, 0
		if start := firstStart(r.Works); start > 0 {
			r.StartMS = float64(start-r.StartedNS) / 1e6
			for _, rank := range trainersOf(r.Works) {
				r.StartBoundMS = max(r.StartBoundMS, float64(r.ClockOf(rank).BoundNS)/1e6)
			}
		}
	}
	if len(r.Found) > 0 {
		r.Evaluation = r.evaluations()
	}
	for i := range r.Noise {
		r.Noise[i].Compute()
	}
	if r.Checks != nil && r.Throughput.Seconds > 0 {
		r.Checks.Share = r.Checks.SpentMS / 1e3 / r.Throughput.Seconds
	}
}
