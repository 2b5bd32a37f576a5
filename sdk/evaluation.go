package sdk

import (
	"context"

	"github.com/psbench/psbench/comm/tensor"
)

// Evaluation measures, after an epoch, how good a model is on this rank's share of the
// held-out samples. A nil one does nothing, as one of a rank without samples.
type Evaluation struct {
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error
}

// NewEvaluation makes an evaluation whose Run calls run: the host of a trainer does, and
// tests of trainers may.
func NewEvaluation(run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error) *Evaluation {
	return &Evaluation{run}
}

// Run computes the loss of every held-out batch, and what tells a classifier's quality
// from its output, which forward computes: the Evaluator of the model, say. The time that it takes counts
// for no iteration and not for the throughput. Without samples it does nothing.
func (e *Evaluation) Run(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error {
	if e == nil {
		return nil
	}
	return e.run(ctx, epoch, forward, criterion)
}
