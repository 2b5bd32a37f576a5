package run

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// evaluating returns a run whose trainers have 2, 3, ... batches per epoch and reported these losses.
func evaluating(targets int, losses ...[]float64) *run {
	r := withPlans(&run{e: experiment(len(losses), 0, registry.Links{})},
		plan{inputs: &sdk.InputSpec{Targets: targets}})
	r.result.Losses = losses
	return r
}

// sent stores the evaluations that each trainer sent, mixed with other pieces.
func (r *run) sent(byTrainer ...[]*record.Evaluation) *run {
	for rank, list := range byTrainer {
		c := collected{}
		for _, q := range list {
			c.pieces = append(c.pieces, record.Losses{}, q)
		}
		r.processes.trainers[rank].collected = c
	}
	return r
}

// evaluations returns the evaluations in the result, computed from the received pieces.
func (r *run) evaluations() []result.Evaluation {
	r.result.Evaluation = nil
	r.result.Found, r.result.Scores = r.found()
	r.result.Data.BatchesPerTrainer = nil
	for _, s := range r.shares {
		r.result.Data.BatchesPerTrainer = append(r.result.Data.BatchesPerTrainer, s.Batches)
	}
	r.result.Compute()
	return r.result.Evaluation
}

// bins returns histogram bins. Each triple is the number of the bin, its positive samples and its negative samples.
func bins(list ...[3]int64) (out []record.Bin) {
	for _, b := range list {
		out = append(out, record.Bin{Bin: int32(b[0]), Positives: b[1], Negatives: b[2]})
	}
	return out
}

func requireEvaluations(t *testing.T, name string, got, want []result.Evaluation) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func TestEvaluations(t *testing.T) {
	// The two trainers have 2 and 3 batches per epoch. The second trainer failed in epoch 1.
	r := evaluating(1, []float64{1, 2, 3, 4}, []float64{3, 4, 5, 6})
	got := r.sent(
		[]*record.Evaluation{
			{Epoch: 0, Samples: 4, LossSum: 2, Correct: new(3), Bins: bins([3]int64{-1, 0, 2}, [3]int64{2, 1, 1})},
			{Epoch: 1, Samples: 4, LossSum: 1, Correct: new(4), Bins: bins([3]int64{-1, 0, 3}, [3]int64{2, 1, 0})},
		},
		[]*record.Evaluation{
			{Epoch: 0, Samples: 2, LossSum: 4, Correct: new(0), Bins: bins([3]int64{-1, 1, 0}, [3]int64{0, 0, 1})},
		},
	).evaluations()
	base := func(p float64) *float64 { return new(-p*math.Log(p) - (1-p)*math.Log(1-p)) }
	requireEvaluations(t, "2 trainers", got, []result.Evaluation{
		{
			Epoch: 0, Samples: 6, TrainLoss: 3, Loss: 1, Accuracy: new(0.5), AUC: new(4.5 / 8),
			BaseEntropy: base(1. / 3),
			Trainers: []result.TrainerEvaluation{{Rank: 0, Samples: 4, Loss: 0.5, Accuracy: new(0.75)},
				{Rank: 1, Samples: 2, Loss: 2, Accuracy: new(0.)}},
		}, {
			Epoch: 1, Samples: 4, TrainLoss: 13. / 3, Loss: 0.25, Accuracy: new(1.), AUC: new(1.),
			BaseEntropy: base(0.25),
			Trainers:    []result.TrainerEvaluation{{Rank: 0, Samples: 4, Loss: 0.25, Accuracy: new(1.)}},
		},
	})

	one := func(r *run, q *record.Evaluation) []result.Evaluation {
		return r.sent([]*record.Evaluation{q}).evaluations()
	}
	r = evaluating(1, []float64{1, 3})
	requireEvaluations(t, "no classifier", one(r, &record.Evaluation{Samples: 4, LossSum: math.NaN()}),
		[]result.Evaluation{{
			Samples: 4, TrainLoss: 2, Loss: math.NaN(),
			Trainers: []result.TrainerEvaluation{{Samples: 4, Loss: math.NaN()}},
		}})
	requireEvaluations(t, "one of the classes", one(r, &record.Evaluation{
		Samples: 4, LossSum: 1, Correct: new(1), Bins: bins([3]int64{0, 4, 0}),
	}), []result.Evaluation{{
		Samples: 4, TrainLoss: 2, Loss: 0.25, Accuracy: new(0.25), BaseEntropy: new(0.),
		Trainers: []result.TrainerEvaluation{{Samples: 4, Loss: 0.25, Accuracy: new(0.25)}},
	}})
	requireEvaluations(t, "two targets a sample, no losses",
		one(evaluating(2, nil), &record.Evaluation{Samples: 4, LossSum: 1, Correct: new(6)}), []result.Evaluation{{
			Samples: 4, TrainLoss: math.NaN(), Loss: 0.25, Accuracy: new(0.75),
			Trainers: []result.TrainerEvaluation{{Samples: 4, Loss: 0.25, Accuracy: new(0.75)}},
		}})
	requireEvaluations(t, "nothing held out", r.sent(nil).evaluations(), nil)
}

// The number of epochs of a timed pass is unknown, so any epoch number from 0 is valid.
func TestCheckOfEpochsOfATimedPass(t *testing.T) {
	for epoch, want := range map[int]string{0: "", 1_000_000: "", -1: "its epoch is -1, but epochs start at 0"} {
		t.Run(fmt.Sprint(epoch), func(t *testing.T) {
			got := ""
			if err := checkEvaluation(&record.Evaluation{Epoch: epoch, Samples: 1}, 0); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("epoch %d: %q, want %q", epoch, got, want)
			}
		})
	}
}

// The combined evaluation does not depend on how the held-out samples are divided among the trainers.
func TestEvaluationsOfAnyPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *record.Evaluation {
			positive := rapid.Int64Range(0, 1).Draw(t, "positive")
			return &record.Evaluation{
				Samples: 1, LossSum: rapid.Float64Range(0, 5).Draw(t, "loss"),
				Correct: new(rapid.IntRange(0, 1).Draw(t, "correct")),
				Bins: []record.Bin{{Bin: rapid.Int32Range(-3, 3).Draw(t, "bin"), Positives: positive,
					Negatives: 1 - positive}},
			}
		}), 1, 20).Draw(t, "samples")
		alone := evaluating(1, nil)
		want := alone.sent(samples).evaluations()
		partitioned := make([][]*record.Evaluation, 3)
		for _, q := range samples {
			rank := rapid.IntRange(0, 2).Draw(t, "rank")
			partitioned[rank] = append(partitioned[rank], q)
		}
		together := evaluating(1, nil, nil, nil)
		got := together.sent(partitioned...).evaluations()
		ignore := cmpopts.IgnoreFields(result.Evaluation{}, "Trainers")
		if d := cmp.Diff(want, got, ignore, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestCheckOfPieces(t *testing.T) {
	for want, q := range map[string]*record.Evaluation{
		"": {Epoch: 2, Samples: 1, Correct: new(0), Bins: bins([3]int64{-9, 1, 0})},
		"epoch 1 has 0 samples, but must have at least 1":  {Epoch: 1},
		"it is of epoch 3, but the run has epochs 0 to 2":  {Epoch: 3, Samples: 1},
		"it is of epoch -1, but the run has epochs 0 to 2": {Epoch: -1, Samples: 1},
		"epoch 0 counts less than 0 samples":               {Samples: 1, Correct: new(-1)},
		"epoch 2 counts less than 0 samples":               {Epoch: 2, Samples: 1, Bins: bins([3]int64{1, -1, 2})},
	} {
		t.Run(want, func(t *testing.T) {
			r := settled(laidOut(&run{e: experiment(2, 0, registry.Links{}), passing: record.Measured}))
			got := ""
			if err := r.checkPiece(r.processes.trainers[1], q); err != nil {
				got = err.Error()
			}
			if want != "" {
				want = "trainer1 sent an impossible evaluation: " + want
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
