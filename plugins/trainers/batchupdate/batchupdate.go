// Package batchupdate is the trainer for the batch-updating parameter server. The server holds the model and its
// optimizer, and the trainer computes gradients.
package batchupdate

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
)

// Settings of the trainer.
type Settings struct {
	dataparallel.BucketSettings
}

// Defaults use PyTorch's bucket size.
var Defaults = Settings{dataparallel.DefaultBuckets}

// Parts lists the trainer.
func Parts() []sdk.Part { return []sdk.Part{sdk.NewParameterTrainer("batch_update", Defaults, New)} }

// trainer implements sdk.Trainer. Batch 0 of a pass fetches the model. From batch 1 on, each bucket carries
// gradients to the server and returns with the updated parameters.
type trainer struct {
	settings Settings
	env      sdk.TrainerEnv
	parts    sdk.TrainerParts
	state    dataparallel.HookState // state of the pass, like reducer
	reducer  *dataparallel.Reducer
	gradient dataparallel.OutputGradient

	whole, forward, backward, taking *sdk.Series
	fetching, processing, reporting  *sdk.Series
}

// New returns the trainer of one rank.
func New(s Settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if env.Server == "" {
		return nil,
			errors.New("the batch_update trainer gets its model from a server but the run has none: choose a server that serves parameters, such as batch_update")
	}
	if err := s.CheckBuckets(); err != nil {
		return nil, err
	}
	return &trainer{settings: s, env: env}, nil
}

// Plan implements sdk.Trainer.
func (t *trainer) Plan(specs []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	for _, p := range specs {
		if p.Sparse {
			return nil,
				fmt.Errorf("parameter %s has a sparse gradient, which the batch_update trainer cannot exchange for parameters: make the model's gradients dense",
					p.Name)
		}
	}
	return t.settings.PlanBuckets(specs), nil
}

// Attach implements sdk.Trainer.
func (t *trainer) Attach(parts sdk.TrainerParts) error {
	t.parts, t.gradient = parts, dataparallel.NewOutputGradient(parts.Engine)
	series := parts.Recorder.Series
	t.whole = series("batch_level_metric", "batch_all")
	t.forward = series("forward_metric", "forward_pass")
	t.backward = series("backward_metric", "backward")
	t.taking = series(dataparallel.IterationMetric, dataparallel.Parameters)
	t.fetching = series("batch_update_metric", "fetching the model")
	t.processing = series("batch_update_metric", "processing one batch")
	t.reporting = series("batch_update_metric", "reporting grads")
	return nil
}

// Reset implements sdk.Trainer.
func (t *trainer) Reset() error {
	t.parts.Model.Initialize(t.env.Seed)
	t.state = dataparallel.NewHookState()
	t.reducer = dataparallel.NewParameterReducer(t.parts, t.state)
	return nil
}

// Train implements sdk.Trainer.
func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	if err := t.fetch(); err != nil {
		return fmt.Errorf("%s, fetching the model: %w", t.env.Name, err)
	}
	for epoch := range t.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, t.step); err != nil {
			return err
		}
		if err := t.parts.Evaluation.Run(ctx, epoch, sdk.Evaluator(t.parts.Model), t.parts.Criterion); err != nil {
			return err
		}
	}
	return nil
}

// fetch gets the server's parameters. fetch pushes gradients of zero, which the server ignores. Gradients that are
// shared on a device keep their contents, because the server does not read them.
func (t *trainer) fetch() error {
	t.state.NextBatch()
	start := comm.Now()
	for _, g := range t.parts.Gradients {
		if t.parts.AwaitShared != nil {
			break
		}
		if err := engine.Clear(t.parts.Engine, g.Values); err != nil {
			return err
		}
	}
	t.reducer.Begin()
	for k := len(t.parts.Gradients) - 1; k >= 0; k-- {
		t.reducer.Emit(k)
	}
	if err := t.reducer.Wait(nil); err != nil {
		return err
	}
	if err := t.reducer.TakeParameters(); err != nil {
		return err
	}
	t.fetching.Record(sdk.Key{}, start, comm.Now())
	return nil
}

// step does forward, loss and backward, which sends the buckets. Then it waits for the updated parameters.
func (t *trainer) step(key sdk.Key, b *sdk.Batch) (float64, error) {
	t.state.NextBatch()
	start := comm.Now()
	loss, gradient, forwardEnd, err := t.gradient.Compute(t.parts.Model, t.parts.Criterion, b)
	if err != nil {
		return 0, err
	}
	t.reducer.Begin()
	if err := t.reducer.Wait(t.parts.Model.Backward(gradient, t.reducer.Emit)); err != nil {
		return 0, err
	}
	processed, backwardEnd := t.reducer.Waited()
	if err := t.reducer.TakeParameters(); err != nil {
		return 0, err
	}
	end := comm.Now()
	t.forward.Record(key, start, forwardEnd)
	t.backward.Record(key, forwardEnd, backwardEnd)
	t.reducer.Record(key, forwardEnd)
	t.taking.Record(key, backwardEnd, end)
	t.processing.Record(key, start, processed)
	t.reporting.Record(key, processed, end)
	t.whole.Record(key, start, end)
	return loss, nil
}
