package ddp

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

// iterationStep runs one iteration on a batch, times it under key
// {epoch},{index}, and returns the loss before the step.
type iterationStep func(it *iteration, key sdk.Key, b *sdk.Batch) (float64, error)

// iteration holds the objects of a step. The fields model and state belong to the pass.
type iteration struct {
	model     ddpModel
	state     dataparallel.HookState
	criterion sdk.Criterion
	optimizer optimizer.Optimizer
	gradient  dataparallel.OutputGradient

	whole, forward, backward, optimizing *sdk.Series
}

func newIteration(t *trainer) (iteration, error) {
	steps, err := dataparallel.NewOptimizer(t.settings.Settings, t.parts)
	rec := t.parts.Recorder
	return iteration{
		criterion:  t.parts.Criterion,
		optimizer:  steps,
		gradient:   dataparallel.NewOutputGradient(t.parts.Engine),
		whole:      rec.Series("batch_level_metric", "batch_all"),
		forward:    rec.Series("forward_metric", "forward_pass"),
		backward:   rec.Series("backward_metric", "backward"),
		optimizing: rec.Series(dataparallel.IterationMetric, dataparallel.Optimizer),
	}, err
}

// basicStep does forward, loss, backward with its reductions, and the optimizer step. basicStep need not zero
// gradients, because a model overwrites them.
func basicStep(it *iteration, key sdk.Key, b *sdk.Batch) (float64, error) {
	it.state.NextBatch()
	start := comm.Now()
	loss, gradient, forwardEnd, err := it.gradient.Compute(it.model, it.criterion, b)
	if err != nil {
		return 0, err
	}
	if err := it.model.Backward(gradient); err != nil {
		return 0, err
	}
	_, backwardEnd := it.model.Waited()
	if err := it.optimizer.Step(); err != nil {
		return 0, err
	}
	end := comm.Now()
	it.forward.Record(key, start, forwardEnd)
	it.backward.Record(key, forwardEnd, backwardEnd)
	it.model.Record(key, forwardEnd)
	it.optimizing.Record(key, backwardEnd, end)
	it.whole.Record(key, start, end)
	return loss, nil
}
