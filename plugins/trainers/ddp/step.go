package ddp

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// iterationStep runs one iteration on a batch, times it under key
// {epoch},{index}, and returns the loss before the step.
type iterationStep func(it *iteration, key sdk.Key, b *sdk.Batch) (float64, error)

// iteration is what a step works with. model and state are those of the pass.
type iteration struct {
	model     ddpModel
	state     hookState
	criterion sdk.Criterion
	optimizer sgd
	gradient  comm.Tensor // of the model's output; grows to the largest batch

	whole, forward, backward *sdk.Series
}

func newIteration(t *trainer) iteration {
	rec := t.parts.Recorder
	return iteration{
		criterion: t.parts.Criterion,
		optimizer: sgd{
			lr: float32(t.settings.LR), momentum: float32(t.settings.Momentum),
			values: t.parts.Values, gradients: t.parts.Gradients,
		},
		whole:    rec.Series("batch_level_metric", "batch_all"),
		forward:  rec.Series("forward_metric", "forward_pass"),
		backward: rec.Series("backward_metric", "backward"),
	}
}

// basicStep is forward, loss, backward with its reductions, and the optimizer.
// Gradients need no zeroing: a model overwrites them.
func basicStep(it *iteration, key sdk.Key, b *sdk.Batch) (float64, error) {
	it.state.NextBatch()
	start := comm.Now()
	output, err := it.model.Forward(b)
	if err != nil {
		return 0, err
	}
	loss, err := it.criterion.Forward(output, b.Targets)
	if err != nil {
		return 0, err
	}
	forwardEnd := comm.Now()
	gradient := it.gradientOf(output)
	if err := it.criterion.Backward(gradient); err != nil {
		return 0, err
	}
	if err := it.model.Backward(gradient); err != nil {
		return 0, err
	}
	backwardEnd := comm.Now()
	it.optimizer.step()
	end := comm.Now()
	it.forward.Record(key, start, forwardEnd)
	it.backward.Record(key, forwardEnd, backwardEnd)
	it.whole.Record(key, start, end)
	return loss, nil
}

// gradientOf is the storage for the gradient of output.
func (it *iteration) gradientOf(output comm.Tensor) comm.Tensor {
	if cap(it.gradient.Data) < len(output.Data) {
		it.gradient.Data = make([]float32, len(output.Data))
	}
	it.gradient.Shape = append(it.gradient.Shape[:0], output.Shape...)
	it.gradient.Data = it.gradient.Data[:len(output.Data)]
	return it.gradient
}
