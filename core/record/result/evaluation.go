package result

// Evaluation is what all trainers together found on the held-out samples after an epoch of the measured pass.
type Evaluation struct {
	Epoch int `json:"epoch"` // from 0
	// Samples is less than the held-out samples if not all trainers evaluated the epoch.
	Samples int64 `json:"samples"`
	// TrainLoss is the mean loss of the epoch's iterations on all trainers, each before its optimizer step.
	TrainLoss float64 `json:"train_loss"`
	// Loss is the mean of the criterion over the samples. JSON has null for a loss that is not finite.
	Loss float64 `json:"loss"`
	// Accuracy is the share of targets that a classifier hits.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// AUC is the area under the ROC curve of a binary classifier; absent if one of the classes is missing.
	AUC *float64 `json:"auc,omitempty"`
	// BaseEntropy is the log loss, in nats, of a binary classifier that always predicts the share of targets 1.
	BaseEntropy *float64            `json:"base_entropy,omitempty"`
	Trainers    []TrainerEvaluation `json:"trainers"`
}

// TrainerEvaluation is what one trainer found on its share.
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

// Checks says what was recomputed, after the pass, of the work of links and servers. If something was wrong, the
// run is not complete and its error names it.
type Checks struct {
	// Operations counts the operations of the links of all ranks.
	Operations int64 `json:"operations"`
	// Slices counts the slices of payloads, of at most 4 KiB each, that were kept and compared. Elements counts
	// their elements.
	Slices   int64 `json:"slices"`
	Elements int64 `json:"elements"`
	// Iterations counts the iterations with such a slice.
	Iterations int64 `json:"iterations"`
	// SpentMS is the time that keeping slices took in the pass, on the rank where it took longest. Share is its
	// share of the pass.
	SpentMS float64 `json:"spent_ms"`
	Share   float64 `json:"share"`
	// Unchecked lists what could not be recomputed.
	Unchecked []Unchecked `json:"unchecked,omitempty"`
}

// Unchecked is a part of a run that could not be recomputed.
type Unchecked struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Replicas says whether trainers that exchange gradients ended with equal parameters, bit by bit.
type Replicas struct {
	// Sets are the sets of trainers, by rank, that must end equal. Every trainer is in one.
	Sets [][]int `json:"sets"`
	// MayDiffer says why trainers may differ by declaration; each trainer is then a set of its own.
	MayDiffer string `json:"may_differ,omitempty"`
	// Unequal lists trainers that differ from the first one of their set; Warnings name them too.
	Unequal []UnequalReplica `json:"unequal,omitempty"`
}

// UnequalReplica is a trainer whose parameters differ from those of the trainer of rank From.
type UnequalReplica struct {
	Rank int `json:"rank"`
	From int `json:"from"`
	// Parameters is how many parameters of Of differ, and Parameter the first of them.
	Parameters int    `json:"parameters"`
	Of         int    `json:"of"`
	Parameter  string `json:"parameter"`
}
