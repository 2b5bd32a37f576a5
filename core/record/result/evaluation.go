package result

// Evaluation holds the results of all trainers on the held-out samples after an epoch of the measured pass.
type Evaluation struct {
	Epoch int `json:"epoch"` // number of the epoch, from 0
	// Samples is the number of evaluated samples. Samples is smaller than the number of held-out samples if not all
	// trainers evaluated the epoch.
	Samples int64 `json:"samples"`
	// TrainLoss is the mean loss over the epoch's iterations on all trainers. Each loss is computed before the
	// optimizer step.
	TrainLoss float64 `json:"train_loss"`
	// Loss is the mean of the criterion over the samples. In JSON, a loss that is not finite is null.
	Loss float64 `json:"loss"`
	// Accuracy is the share of targets that a classifier predicts correctly.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// AUC is the area under the ROC curve of a binary classifier. AUC is absent if one of the classes has no samples.
	AUC *float64 `json:"auc,omitempty"`
	// BaseEntropy is the log loss, in nats, of a binary classifier that always predicts the share of targets 1.
	BaseEntropy *float64            `json:"base_entropy,omitempty"`
	Trainers    []TrainerEvaluation `json:"trainers"`
}

// TrainerEvaluation holds the results of one trainer on its share of the samples.
type TrainerEvaluation struct {
	Rank     int      `json:"rank"`
	Samples  int64    `json:"samples"`
	Loss     float64  `json:"loss"`
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// evaluation is Evaluation in JSON.
type evaluation struct {
	plainEvaluation
	TrainLoss number              `json:"train_loss"`
	Loss      number              `json:"loss"`
	Trainers  []trainerEvaluation `json:"trainers"`
}

type plainEvaluation Evaluation

// trainerEvaluation is TrainerEvaluation in JSON.
type trainerEvaluation struct {
	plainTrainerEvaluation
	Loss number `json:"loss"`
}

type plainTrainerEvaluation TrainerEvaluation

func evaluationsToFile(epochs []Evaluation) (out []evaluation) {
	for _, e := range epochs {
		f := evaluation{plainEvaluation(e), number(e.TrainLoss), number(e.Loss), []trainerEvaluation{}}
		for _, t := range e.Trainers {
			f.Trainers = append(f.Trainers, trainerEvaluation{plainTrainerEvaluation(t), number(t.Loss)})
		}
		out = append(out, f)
	}
	return out
}

func evaluationsFromFile(epochs []evaluation) (out []Evaluation) {
	for _, f := range epochs {
		e := Evaluation(f.plainEvaluation)
		e.TrainLoss, e.Loss = float64(f.TrainLoss), float64(f.Loss)
		for _, t := range f.Trainers {
			trainer := TrainerEvaluation(t.plainTrainerEvaluation)
			trainer.Loss = float64(t.Loss)
			e.Trainers = append(e.Trainers, trainer)
		}
		out = append(out, e)
	}
	return out
}

// Checks says how much of the work of links and servers was recomputed after the pass. If a check failed, the run is
// not complete and its error names the failed check.
type Checks struct {
	// Operations is the number of operations of the links of all ranks.
	Operations int64 `json:"operations"`
	// Slices is the number of slices that were kept and compared. A slice is a part of a payload with at most 4 KiB.
	// Elements is the number of elements in these slices.
	Slices   int64 `json:"slices"`
	Elements int64 `json:"elements"`
	// Iterations is the number of iterations with at least one slice.
	Iterations int64 `json:"iterations"`
	// SpentMS is the time that keeping slices took during the pass, on the rank where it took longest. Share is its
	// share of the pass.
	SpentMS float64 `json:"spent_ms"`
	Share   float64 `json:"share"`
	// Unchecked lists the parts of the run that could not be recomputed.
	Unchecked []Unchecked `json:"unchecked,omitempty"`
}

// Unchecked is a part of a run that could not be recomputed, with the reason.
type Unchecked struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Replicas says whether trainers that exchange gradients ended with parameters that are equal to the last bit.
type Replicas struct {
	// Sets are the sets of trainers, by rank, whose parameters must be equal. Every trainer is in one set.
	Sets [][]int `json:"sets"`
	// MayDiffer says why trainers may differ by declaration. If MayDiffer is not empty, each trainer is its own set.
	MayDiffer string `json:"may_differ,omitempty"`
	// Unequal lists the trainers whose parameters differ from the first trainer of their set. Warnings name them too.
	Unequal []UnequalReplica `json:"unequal,omitempty"`
}

// UnequalReplica is a trainer whose parameters differ from the parameters of the trainer with rank From.
type UnequalReplica struct {
	Rank int `json:"rank"`
	From int `json:"from"`
	// Parameters is the number of parameters that differ, out of Of. Parameter is the first of them.
	Parameters int    `json:"parameters"`
	Of         int    `json:"of"`
	Parameter  string `json:"parameter"`
}
