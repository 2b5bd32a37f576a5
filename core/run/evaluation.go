package run

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/stats"
	"github.com/psbench/psbench/sdk/host/record"
)

// found is what one or more trainers found after an epoch.
type found struct {
	samples, correct int
	classifiers      int // trainers whose model is a classifier
	lossSum          float64
	scores           map[int32]stats.Classes // by bin
	trainers         []result.TrainerEvaluation
}

// evaluations are what the trainers found, epoch by epoch: in a run that ended early those
// epochs that at least one of them has evaluated. It needs the losses of the result.
func (r *run) evaluations() []result.Evaluation {
	epochs := map[int]*found{}
	for _, t := range r.processes.trainers {
		for q := range pieces[*record.Evaluation](&t.collected) {
			f := epochs[q.Epoch]
			if f == nil {
				f = &found{scores: map[int32]stats.Classes{}}
				epochs[q.Epoch] = f
			}
			f.add(t.rank, r.targets(), q)
		}
	}
	var out []result.Evaluation
	for _, epoch := range slices.Sorted(maps.Keys(epochs)) {
		e := epochs[epoch].sum(r.targets())
		e.Epoch, e.TrainLoss = epoch, r.trainLoss(epoch)
		out = append(out, e)
	}
	return out
}

// targets is how many targets a sample has.
func (r *run) targets() int { return max(1, r.inputs().Targets) }

// add counts what a trainer found.
func (f *found) add(rank, targets int, q *record.Evaluation) {
	t := result.TrainerEvaluation{Rank: rank, Samples: int64(q.Samples), Loss: q.LossSum / float64(q.Samples)}
	if q.Correct != nil {
		t.Accuracy = share(*q.Correct, q.Samples*targets)
		f.classifiers++
		f.correct += *q.Correct
	}
	f.trainers = append(f.trainers, t)
	f.samples += q.Samples
	f.lossSum += q.LossSum
	for _, b := range q.Bins {
		f.scores[b.Bin] = f.scores[b.Bin].Add(stats.Classes{Positives: b.Positives, Negatives: b.Negatives})
	}
}

// sum is what all trainers found together.
func (f *found) sum(targets int) result.Evaluation {
	e := result.Evaluation{Samples: int64(f.samples), Loss: f.lossSum / float64(f.samples), Trainers: f.trainers}
	if f.classifiers == len(f.trainers) {
		e.Accuracy = share(f.correct, f.samples*targets)
	}
	if len(f.scores) == 0 {
		return e
	}
	var all stats.Classes
	var scores []stats.Classes
	for _, bin := range slices.Sorted(maps.Keys(f.scores)) {
		scores, all = append(scores, f.scores[bin]), all.Add(f.scores[bin])
	}
	e.BaseEntropy = new(all.Entropy())
	if auc, ok := stats.AUC(scores); ok {
		e.AUC = &auc
	}
	return e
}

func share(part, whole int) *float64 { return new(float64(part) / float64(whole)) }

// trainLoss is the mean over the iterations that the trainers ran in an epoch; it is NaN
// without any. The core knows no batch's size, so a short last batch counts as the others.
func (r *run) trainLoss(epoch int) float64 {
	sum, n := 0.0, 0
	for rank, losses := range r.result.Losses {
		batches := r.shares[rank].Batches
		from := min(epoch*batches, len(losses))
		for _, loss := range losses[from:min(from+batches, len(losses))] {
			sum += loss
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// checkEvaluation refuses what no trainer can have found in so many epochs; 0: in any number
// of them.
func checkEvaluation(q *record.Evaluation, epochs int) error {
	switch {
	case q.Epoch < 0 && epochs == 0:
		return fmt.Errorf("it is of epoch %d, which is none", q.Epoch)
	case q.Epoch < 0 || epochs > 0 && q.Epoch >= epochs:
		return fmt.Errorf("it is of epoch %d, but the run has epochs 0 to %d", q.Epoch, epochs-1)
	case q.Samples < 1:
		return fmt.Errorf("epoch %d has %d samples, but must have 1 at least", q.Epoch, q.Samples)
	case q.Correct != nil && *q.Correct < 0,
		slices.ContainsFunc(q.Bins, func(b record.Bin) bool { return b.Positives < 0 || b.Negatives < 0 }):
		return fmt.Errorf("epoch %d counts less than 0 samples", q.Epoch)
	}
	return nil
}
