package result

import (
	"cmp"
	"slices"
)

// Work is what a trainer did in a pass. If the pass was not finished, Work describes the part that was done.
type Work struct {
	WarmUp      bool // the pass is the warm-up, not the measured pass
	Rank        int
	Samples     int64 // samples of the finished iterations
	StartNS     int64 // start of the first iteration, on the clock of the series
	EndNS       int64 // end of the pass, or of its last finished iteration
	EvaluatedNS int64 // time spent on held-out samples in between
}

// ThroughputOf returns the throughput of a pass, or of the part that was done. The throughput is the number of samples
// in finished iterations, divided by the time from the first start to the last end. Trainers evaluate at the same time,
// so only the longest of their evaluations is subtracted.
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

// firstStart returns the earliest start, or 0 if no trainer started.
func firstStart(works []Work) int64 {
	if len(works) == 0 {
		return 0
	}
	return slices.MinFunc(works, func(a, b Work) int { return cmp.Compare(a.StartNS, b.StartNS) }).StartNS
}

// trainersOf returns the ranks of the trainers in works.
func trainersOf(works []Work) (ranks []int) {
	for _, w := range works {
		ranks = append(ranks, w.Rank)
	}
	return ranks
}

// workOf returns the works that belong to the result's pass.
func (r *Result) workOf() []Work {
	return slices.DeleteFunc(slices.Clone(r.Works), func(w Work) bool { return w.WarmUp != (r.Pass == WarmUp) })
}

// Compute derives throughput, start, evaluation, noise and the share of checks from the recorded data. If the data for
// a value is missing, as in results of older versions, the value is not changed.
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
