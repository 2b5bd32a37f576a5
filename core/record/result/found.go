package result

import (
	"math"
	"slices"

	"github.com/psbench/psbench/core/record/stats"
)

// Found holds the results of one trainer on its held-out samples after an epoch of the result's pass.
type Found struct {
	Epoch, Rank int
	Samples     int64
	LossSum     float64 // summed over the samples
	// Correct is the number of Targets that a classifier predicts correctly. Correct is -1 for other models.
	Correct, Targets int64
}

// Score counts the samples of each class for which a binary classifier has about the same output after an epoch. Score
// includes all trainers. A larger Bin means larger outputs.
type Score struct {
	Epoch int
	Bin   int32
	stats.Classes
}

// evaluations combines the results of the trainers, epoch by epoch. If the run ended early, the result contains the
// epochs that at least one trainer evaluated.
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

// evaluationOf combines the results of several trainers for one epoch.
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

// trainLoss returns the mean loss over the iterations of all trainers in an epoch, or NaN if there are none. Batch
// sizes are not recorded, so a short last batch counts like the others.
func (r *Result) trainLoss(epoch int) float64 {
	sum, n := 0.0, 0
	for rank, losses := range r.Losses {
		if rank >= len(r.Data.BatchesPerTrainer) {
			continue
		}
		batches := min(max(0, r.Data.BatchesPerTrainer[rank]), len(losses))
		if batches > 0 && epoch > len(losses)/batches { // avoids an overflow of the product
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
