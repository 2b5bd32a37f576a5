package result

import (
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/stats"
)

// Found is what a trainer found on its held-out samples after an epoch of the result's pass.
type Found struct {
	Epoch, Rank int
	Samples     int64
	LossSum     float64 // over the samples
	// Correct is how many targets a classifier hits, of Targets; -1 of a model that is none.
	Correct, Targets int64
}

// Score is how many of the samples of each class of a binary classifier had about the same output
// after an epoch, on all trainers together; a larger bin has larger outputs.
type Score struct {
	Epoch int
	Bin   int32
	stats.Classes
}

// evaluations are what the trainers found, epoch by epoch: in a run that ended early those
// epochs that at least one of them has evaluated.
func (r *Result) evaluations() []Evaluation {
	byEpoch := map[int][]Found{}
	var epochs []int
	for _, f := range r.Found {
		if byEpoch[f.Epoch] == nil {
			epochs = append(epochs, f.Epoch)
		}
		byEpoch[f.Epoch] = append(byEpoch[f.Epoch], f)
	}
	scores := map[int][]stats.Classes{}
	for _, s := range r.Scores {
		scores[s.Epoch] = append(scores[s.Epoch], s.Classes)
	}
	slices.Sort(epochs)
	var out []Evaluation
	for _, epoch := range epochs {
		e := evaluationOf(byEpoch[epoch], scores[epoch])
		e.Epoch, e.TrainLoss = epoch, r.trainLoss(epoch)
		out = append(out, e)
	}
	return out
}

// evaluationOf is what some trainers found together.
func evaluationOf(found []Found, scores []stats.Classes) (e Evaluation) {
	var correct, targets int64
	var lossSum float64
	classifiers := 0
	for _, f := range found {
		t := TrainerEvaluation{Rank: f.Rank, Samples: f.Samples, Loss: f.LossSum / float64(f.Samples)}
		if f.Correct >= 0 {
			t.Accuracy = share(f.Correct, f.Targets)
			classifiers++
			correct += f.Correct
		}
		e.Trainers = append(e.Trainers, t)
		e.Samples, targets, lossSum = e.Samples+f.Samples, targets+f.Targets, lossSum+f.LossSum
	}
	e.Loss = lossSum / float64(e.Samples)
	if classifiers == len(found) {
		e.Accuracy = share(correct, targets)
	}
	if len(scores) == 0 {
		return e
	}
	var all stats.Classes
	for _, s := range scores {
		all = all.Add(s)
	}
	e.BaseEntropy = new(all.Entropy())
	if auc, ok := stats.AUC(scores); ok {
		e.AUC = &auc
	}
	return e
}

func share(part, whole int64) *float64 { return new(float64(part) / float64(whole)) }

// trainLoss is the mean over the iterations that the trainers ran in an epoch; it is NaN
// without any. Nobody notes the size of a batch, so a short last one counts as the others.
func (r *Result) trainLoss(epoch int) float64 {
	sum, n := 0.0, 0
	for rank, losses := range r.Losses {
		if rank >= len(r.Data.BatchesPerTrainer) {
			continue
		}
		batches := min(max(0, r.Data.BatchesPerTrainer[rank]), len(losses))
		if batches > 0 && epoch > len(losses)/batches { // whose product might not fit
			continue
		}
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
