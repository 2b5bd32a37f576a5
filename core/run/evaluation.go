package run

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/stats"
	"github.com/psbench/psbench/sdk/proto"
)

// found is what one or more trainers found after an epoch.
type found struct {
	samples, correct int64
	classifiers      int // trainers whose model is a classifier
	lossSum          float64
	scores           map[int32]stats.Classes // by bin
	trainers         []result.TrainerEvaluation
}

// evaluations are what the trainers found, epoch by epoch: in a run that ended early those
// epochs that at least one of them has evaluated. It needs the losses of the result.
func (r *run) evaluations() []result.Evaluation {
	epochs := map[int32]*found{}
	for _, s := range r.processes.trainers {
		for _, reply := range s.collected.replies {
			for _, q := range reply.GetEvaluations() {
				f := epochs[q.GetEpoch()]
				if f == nil {
					f = &found{scores: map[int32]stats.Classes{}}
					epochs[q.GetEpoch()] = f
				}
				f.add(s.rank, r.targets(), q)
			}
		}
	}
	var out []result.Evaluation
	for _, epoch := range slices.Sorted(maps.Keys(epochs)) {
		e := epochs[epoch].sum(r.targets())
		e.Epoch, e.TrainLoss = int(epoch), r.trainLoss(int(epoch))
		out = append(out, e)
	}
	return out
}

// targets is how many targets a sample has.
func (r *run) targets() int64 { return max(1, r.processes.trainers[0].plan.GetInputs().GetTargets()) }

// add counts what a trainer found.
func (f *found) add(rank int, targets int64, q *proto.Evaluation) {
	t := result.TrainerEvaluation{Rank: rank, Samples: q.GetSamples(), Loss: q.GetLossSum() / float64(q.GetSamples())}
	if q.Correct != nil {
		t.Accuracy = share(q.GetCorrect(), q.GetSamples()*targets)
		f.classifiers++
	}
	f.trainers = append(f.trainers, t)
	f.samples += q.GetSamples()
	f.correct += q.GetCorrect()
	f.lossSum += q.GetLossSum()
	for i, bin := range q.GetBins() {
		f.scores[bin] = f.scores[bin].Add(stats.Classes{Positives: q.GetPositives()[i], Negatives: q.GetNegatives()[i]})
	}
}

// sum is what all trainers found together.
func (f *found) sum(targets int64) result.Evaluation {
	e := result.Evaluation{Samples: f.samples, Loss: f.lossSum / float64(f.samples), Trainers: f.trainers}
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

func share(part, whole int64) *float64 { return new(float64(part) / float64(whole)) }

// trainLoss is the mean over the iterations that the trainers ran in an epoch; it is NaN
// without any. The core knows no batch's size, so a short last batch counts as the others.
func (r *run) trainLoss(epoch int) float64 {
	sum, n := 0.0, 0
	for rank, losses := range r.result.Losses {
		batches := int(r.shares[rank].GetBatches())
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

// checkEvaluation refuses what no trainer can have found.
func checkEvaluation(q *proto.Evaluation, epochs int) error {
	switch n := len(q.GetBins()); {
	case q.GetEpoch() < 0 || int(q.GetEpoch()) >= epochs:
		return fmt.Errorf("it is of epoch %d, but the run has epochs 0 to %d", q.GetEpoch(), epochs-1)
	case q.GetSamples() < 1:
		return fmt.Errorf("epoch %d has %d samples, but must have 1 at least", q.GetEpoch(), q.GetSamples())
	case len(q.GetPositives()) != n || len(q.GetNegatives()) != n:
		return fmt.Errorf("epoch %d has columns of unequal length", q.GetEpoch())
	case slices.ContainsFunc(slices.Concat(q.GetPositives(), q.GetNegatives(), []int64{q.GetCorrect()}), func(n int64) bool { return n < 0 }):
		return fmt.Errorf("epoch %d counts less than 0 samples", q.GetEpoch())
	}
	return nil
}
