//go:build nvidia

// Package criteria has psbench's loss functions on a CUDA device, under the same keys.
package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/kernels"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Parts lists the criteria, which have no settings.
func Parts() []sdk.Part {
	rows, elements := false, true // what the mean is over
	return []sdk.Part{
		sdk.NewCriterion("bce", struct{}{}, kind{criteria.CheckLogits, bce, rows}.build),
		sdk.NewCriterion("cel", struct{}{}, kind{criteria.CheckClasses, (*kernels.Queue).CrossEntropy, rows}.build),
		sdk.NewCriterion("l1", struct{}{}, kind{criteria.CheckOutput, (*kernels.Queue).L1, elements}.build),
		sdk.NewCriterion("mse", struct{}{}, kind{criteria.CheckOutput, (*kernels.Queue).MSE, elements}.build),
		sdk.NewCriterion("nll", struct{}{}, kind{criteria.CheckClasses, (*kernels.Queue).NLL, rows}.build),
	}
}

func bce(q *kernels.Queue, losses, gradient, output []float32, targets []int64, _ int) {
	q.BCE(losses, gradient, output, targets)
}

// kind is what makes a criterion of its own.
type kind struct {
	check func(output tensor.Tensor, targets []int64) error
	// launch computes the loss of each row, or the gradient of the mean loss; nil for the other.
	launch   func(q *kernels.Queue, losses, gradient, output []float32, targets []int64, columns int)
	elements bool // the mean is over all elements of the output, and a row's loss is their sum
}

func (k kind) build(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	d, err := device.Of(env.Engine)
	if err != nil {
		return nil, err
	}
	c := &criterion{kind: k, dev: d, lane: d.Compute()}
	if c.targets, err = device.NewTransfer[int64](d, c.lane); err != nil {
		return nil, err
	}
	if c.back, err = device.NewTransfer[float32](d, c.lane); err != nil {
		return nil, err
	}
	c.losses, err = engine.Grow(d, nil, max(1, env.MaxBatch))
	return c, err
}

// criterion implements sdk.Criterion. Forward is a launch, and waits for the losses of the rows, which
// it adds up in float64 in the order of the batch; Backward is another launch and waits for nothing.
type criterion struct {
	kind
	dev     *device.Device
	lane    *device.Lane
	targets *device.Transfer[int64]
	back    *device.Transfer[float32]
	losses  []float32 // by row, on the device

	output tensor.Tensor // of the last Forward; without a shape if there was none
	asked  []int64       // its targets, on the device
}

// Forward implements sdk.Criterion.
func (c *criterion) Forward(output tensor.Tensor, targets []int64) (loss float64, err error) {
	c.output, c.lane = tensor.Tensor{}, c.dev.Compute()
	if err := c.check(output, targets); err != nil {
		return 0, err
	}
	if err := criteria.CheckOutput(output, targets); err != nil {
		return 0, err
	}
	if c.asked, err = c.targets.Put(targets); err != nil {
		return 0, err
	}
	if c.losses, err = engine.Grow(c.dev, c.losses, len(targets)); err != nil {
		return 0, err
	}
	c.dev.Begin(device.Loss)
	c.launch(c.lane.Queue, c.losses, nil, output.Data, c.asked, output.Shape[1])
	c.dev.End(device.Loss)
	if err := c.lane.Queue.Err(); err != nil {
		return 0, err
	}
	losses, err := c.back.Fetch(c.losses)
	if err != nil {
		return 0, err
	}
	for _, l := range losses {
		loss += float64(l)
	}
	if err := c.dev.Read(true); err != nil {
		return 0, err
	}
	c.output = output
	if c.elements {
		return loss / float64(len(output.Data)), nil
	}
	return loss / float64(len(targets)), nil
}

// Backward implements sdk.Criterion.
func (c *criterion) Backward(outputGradient tensor.Tensor) error {
	if err := criteria.CheckGradient(outputGradient, c.output); err != nil {
		return err
	}
	q := c.dev.Compute().Queue
	c.dev.Begin(device.LossGradient)
	c.launch(q, nil, outputGradient.Data, c.output.Data, c.asked, c.output.Shape[1])
	c.dev.End(device.LossGradient)
	return q.Err()
}
