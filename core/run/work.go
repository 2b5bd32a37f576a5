package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/host/record"
)

var passNames = map[record.Pass]string{record.WarmUp: result.WarmUp, record.Measured: result.Measured}

// works are what the trainers did of the last pass, without those that are not heard of.
func (r *run) works() []record.Work {
	var works []record.Work
	for _, t := range r.processes.trainers {
		for w := range pieces[*record.Work](&t.collected) {
			if w.StartNS > 0 {
				works = append(works, *w)
			}
		}
	}
	return works
}

// throughput is that of a pass, or of as much of it as was done: samples of iterations
// that ended, from the first start to the last end. Trainers evaluate at the same time,
// so the longest of their evaluations counts for all.
func throughput(works []record.Work) result.Throughput {
	var samples, endNS, evaluatedNS int64
	for _, w := range works {
		samples += w.Samples
		endNS, evaluatedNS = max(endNS, w.EndNS), max(evaluatedNS, w.EvaluatedNS)
	}
	if samples == 0 {
		return result.Throughput{}
	}
	return result.NewThroughput(samples, float64(endNS-firstStart(works)-evaluatedNS)/1e9)
}

// firstStart is in ns of comm.Now, or 0 if no trainer started.
func firstStart(works []record.Work) int64 {
	if len(works) == 0 {
		return 0
	}
	return slices.MinFunc(works, func(a, b record.Work) int { return cmp.Compare(a.StartNS, b.StartNS) }).StartNS
}

// startMS is the time until the first iteration.
func (r *run) startMS(works []record.Work) float64 {
	start := firstStart(works)
	if start == 0 {
		return 0
	}
	return float64(start-r.o.StartedNS) / 1e6
}

// warnIterations says that trainers measured too few iterations.
func (r *run) warnIterations() {
	fewest, most, who := math.MaxInt, 0, ""
	for rank, losses := range r.result.Losses {
		if n := len(losses); n < fewest {
			fewest, who = n, r.processes.trainers[rank].Name
		}
		most = max(most, len(losses))
	}
	if fewest >= config.LeastIterations {
		return
	}
	if fewest == most {
		who = "each trainer"
	}
	iterations := fmt.Sprintf("%d iterations", fewest)
	if fewest == 1 {
		iterations = "1 iteration"
	}
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf("%s measured %s, fewer than %d, so that a slow one changes the means: give --iterations %d or more",
		who, iterations, config.LeastIterations, config.LeastIterations))
}
