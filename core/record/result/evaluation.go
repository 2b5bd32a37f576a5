package result

// Evaluation is what the trainers found on the held-out samples after an epoch of the
// measured pass, all together.
type Evaluation struct {
	Epoch int `json:"epoch"` // from 0
	// Samples is less than what is held out if not all trainers came that far.
	Samples int64 `json:"samples"`
	// TrainLoss is the mean of the losses of the epoch's iterations on all trainers,
	// each before its optimizer step.
	TrainLoss float64 `json:"train_loss"`
	// Loss is the mean of the criterion over the samples. JSON holds null for a loss
	// that is not finite.
	Loss float64 `json:"loss"`
	// Accuracy of a classifier is the share of targets that it hits.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// AUC of a binary classifier is the area under its ROC curve; absent if one of the
	// classes is missing.
	AUC *float64 `json:"auc,omitempty"`
	// BaseEntropy of the targets of a binary classifier, in nats, is the log loss of
	// always saying the share of targets 1.
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

// evaluation is Evaluation as JSON holds it.
type evaluation struct {
	plainEvaluation
	TrainLoss number              `json:"train_loss"`
	Loss      number              `json:"loss"`
	Trainers  []trainerEvaluation `json:"trainers"`
}

type plainEvaluation Evaluation

// trainerEvaluation is TrainerEvaluation as JSON holds it.
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

// Checks is what was recomputed, after the pass, of what links and servers made of payloads. Where
// something was wrong the run is not complete, and its error names it.
type Checks struct {
	// Operations are those that the links of all ranks carried out.
	Operations int64 `json:"operations"`
	// Slices of their payloads, of at most 4 KiB, were kept and compared, with so many elements.
	Slices   int64 `json:"slices"`
	Elements int64 `json:"elements"`
	// Iterations of which there is such a slice.
	Iterations int64 `json:"iterations"`
	// SpentMS is the time that the rank which took longest spent on keeping them in the pass, and
	// Share what that is of the pass.
	SpentMS float64 `json:"spent_ms"`
	Share   float64 `json:"share"`
	// Unchecked is what could not be recomputed.
	Unchecked []Unchecked `json:"unchecked,omitempty"`
}

// Unchecked is something of a run that could not be recomputed.
type Unchecked struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Replicas says whether trainers that exchange gradients ended with equal parameters, bit by bit.
type Replicas struct {
	// Sets are the ranks of the trainers by the sets that must end equal. Every trainer is in one.
	Sets [][]int `json:"sets"`
	// MayDiffer is why trainers may differ by declaration: each is a set of its own then.
	MayDiffer string `json:"may_differ,omitempty"`
	// Unequal are those that differ from the first one of their set; Warnings say it too.
	Unequal []UnequalReplica `json:"unequal,omitempty"`
}

// UnequalReplica is a trainer whose parameters differ from those of another one, at rank From.
type UnequalReplica struct {
	Rank int `json:"rank"`
	From int `json:"from"`
	// Parameters is how many parameters of Of differ, and Parameter the first of them.
	Parameters int    `json:"parameters"`
	Of         int    `json:"of"`
	Parameter  string `json:"parameter"`
}
