package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/host/record"
)

// found returns the evaluations and the sample scores of all trainers.
func (r *run) found() (found []result.Found, scores []result.Score) {
	type place struct {
		epoch int
		bin   int32
	}
	classes := map[place]stats.Classes{}
	for _, t := range r.processes.trainers {
		for q := range pieces[*record.Evaluation](&t.collected) {
			f := result.Found{
				Epoch: q.Epoch, Rank: t.rank, Samples: int64(q.Samples), LossSum: q.LossSum, Correct: -1,
				Targets: int64(q.Samples) * int64(max(1, r.inputs().Targets)),
			}
			if q.Correct != nil {
				f.Correct = int64(*q.Correct)
			}
			found = append(found, f)
			for _, b := range q.Bins {
				at := place{q.Epoch, b.Bin}
				classes[at] = classes[at].Add(stats.Classes{Positives: b.Positives, Negatives: b.Negatives})
			}
		}
	}
	for at, c := range classes {
		scores = append(scores, result.Score{Epoch: at.epoch, Bin: at.bin, Classes: c})
	}
	slices.SortFunc(scores,
		func(a, b result.Score) int { return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Bin, b.Bin)) })
	return found, scores
}

// checkEvaluation returns an error for an evaluation that no trainer can have made in this many epochs; 0 allows any
// number.
func checkEvaluation(q *record.Evaluation, epochs int) error {
	switch {
	case q.Epoch < 0 && epochs == 0:
		return fmt.Errorf("its epoch is %d, but epochs start at 0", q.Epoch)
	case q.Epoch < 0 || epochs > 0 && q.Epoch >= epochs:
		return fmt.Errorf("it is of epoch %d, but the run has epochs 0 to %d", q.Epoch, epochs-1)
	case q.Samples < 1:
		return fmt.Errorf("epoch %d has %d samples, but must have at least 1", q.Epoch, q.Samples)
	case q.Correct != nil && *q.Correct < 0,
		slices.ContainsFunc(q.Bins, func(b record.Bin) bool { return b.Positives < 0 || b.Negatives < 0 }):
		return fmt.Errorf("epoch %d counts less than 0 samples", q.Epoch)
	}
	return nil
}
