package run

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
)

var passNames = map[record.Pass]string{record.WarmUp: result.WarmUp, record.Measured: result.Measured}

// works returns the trainers' work in the last pass. Trainers that sent no record are left out.
func (r *run) works() []result.Work {
	var works []result.Work
	for _, t := range r.processes.trainers {
		for w := range pieces[*record.Work](&t.collected) {
			works = addWork(works, t, *w, r.passing)
		}
	}
	return works
}

// addWork appends a trainer's work in a pass, on the core's clock. It appends nothing if the trainer did not begin the
// pass.
func addWork(works []result.Work, t *process, w record.Work, pass record.Pass) []result.Work {
	if w.StartNS == 0 {
		return works
	}
	clock := t.Site().Clock.Estimate()
	if w.EndNS != 0 { // 0 if no iteration ended
		w.EndNS = clock.Here(w.EndNS)
	}
	return append(works, result.Work{
		WarmUp: pass == record.WarmUp, Rank: t.rank, Samples: w.Samples, StartNS: clock.Here(w.StartNS), EndNS: w.EndNS,
		EvaluatedNS: w.EvaluatedNS,
	})
}

// warnIterations warns if trainers measured too few iterations.
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
	r.result.Warnings = append(r.result.Warnings,
		fmt.Sprintf("%s measured %s, fewer than %d, so that a slow one changes the means: give --iterations %d or more",
			who, iterations, config.LeastIterations, config.LeastIterations))
}
