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
	// Correct is how many of Targets a classifier hits; -1 for a model that is not a classifier.
	Correct, Targets int64
}

// Score counts the samples of each class of a binary classifier with about the same output after an epoch, over all
// trainers. A larger bin has larger outputs.
type Score struct {
	Epoch int
	Bin   int32
	stats.Classes
}

// evaluations combines what the trainers found, epoch by epoch. In a run that ended early it has the epochs that at
// least one trainer evaluated.
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

// evaluationOf combines what some trainers found.
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

// trainLoss is the mean over the iterations of all trainers in an epoch; NaN without any. Batch sizes are not
// recorded, so a short last batch counts like the others.
func (r *Result) trainLoss(epoch int) float64 {
	sum, n := 0.0, 0
	for rank, losses := range r.Losses {
		if rank >= len(r.Data.BatchesPerTrainer) {
			continue
		}
		batches := min(max(0, r.Data.BatchesPerTrainer[rank]), len(losses))
		if batches > 0 && epoch > len(losses)/batches { // the product might overflow
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
