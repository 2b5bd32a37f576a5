//go:build nvidia

// Package criteria provides psbench's loss functions on a CUDA device, under the same keys.
package criteria

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/kernels"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Parts lists the criteria. The criteria have no settings.
func Parts() []sdk.Part {
	rows, elements := false, true // whether the mean is over rows or elements
	return []sdk.Part{
		ofFloats("bce",
			kind{check: criteria.CheckLogits, launch: bce, elements: rows, takes: sdk.ShareTargets, floats: bceFloats}),
		ofFloats("cel", kind{check: criteria.CheckClasses, launch: (*kernels.Queue).CrossEntropy, elements: rows,
			takes: sdk.ProbabilityTargets, floats: (*kernels.Queue).CrossEntropyFloats}),
		ofFloats("l1", kind{check: criteria.CheckOutput, launch: (*kernels.Queue).L1, elements: elements,
			takes: sdk.NumberTargets, floats: (*kernels.Queue).L1Floats}),
		ofFloats("mse", kind{check: criteria.CheckOutput, launch: (*kernels.Queue).MSE, elements: elements,
			takes: sdk.NumberTargets, floats: (*kernels.Queue).MSEFloats}),
		sdk.NewCriterion("nll", struct{}{},
			kind{check: criteria.CheckClasses, launch: (*kernels.Queue).NLL, elements: rows}.build),
	}
}

// ofFloats declares a criterion that also accepts numbers as targets.
func ofFloats(key string, k kind) sdk.Part {
	return sdk.WithTargets(k.takes, sdk.NewCriterion(key, struct{}{}, k.buildFloats))
}

func bce(q *kernels.Queue, losses, gradient, output []float32, targets []int64, _ int) {
	q.BCE(losses, gradient, output, targets)
}

func bceFloats(q *kernels.Queue, losses, gradient, output, targets []float32, _ int) {
	q.BCEFloats(losses, gradient, output, targets)
}

// kind holds the functions of one criterion.
type kind struct {
	check func(output tensor.Tensor, targets []int64) error
	// launch computes the loss of each row, or the gradient of the mean loss. The destination that it must not write
	// is nil.
	launch   func(q *kernels.Queue, losses, gradient, output []float32, targets []int64, columns int)
	elements bool // the mean is over all elements of the output; a row's loss is the sum over its elements
	// takes and floats are the check and the launch for targets that are numbers. takes and floats are nil for a
	// criterion without such targets.
	takes  sdk.TargetKind
	floats func(q *kernels.Queue, losses, gradient, output, targets []float32, columns int)
}

func (k kind) build(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) { return k.made(env) }

func (k kind) buildFloats(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	c, err := k.made(env)
	if err != nil {
		return nil, err
	}
	f := &floatCriterion{criterion: c}
	f.numbers, err = device.NewTransfer[float32](c.dev, c.lane)
	return f, err
}

func (k kind) made(env sdk.CriterionEnv) (*criterion, error) {
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

// criterion implements sdk.Criterion. Forward is one launch. Forward waits for the losses of the rows and adds them
// in float64 in the order of the batch. Backward is another launch and does not wait.
type criterion struct {
	kind
	dev     *device.Device
	lane    *device.Lane
	targets *device.Transfer[int64]
	back    *device.Transfer[float32]
	losses  []float32 // loss of each row, on the device

	output tensor.Tensor // output of the last Forward; no shape before the first Forward
	asked  []int64       // the targets, on the device
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
	if c.elements {
		return c.total(output, len(output.Data))
	}
	return c.total(output, len(targets))
}

// total returns the mean loss over n. A launch computes the losses of output.
func (c *criterion) total(output tensor.Tensor, n int) (loss float64, err error) {
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
	return loss / float64(n), nil
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

// floatCriterion is a criterion that also accepts numbers as targets.
type floatCriterion struct {
	*criterion
	numbers *device.Transfer[float32]
	wanted  []float32 // the targets of the last ForwardFloats, on the device; nil after a Forward
}

// Forward implements sdk.Criterion.
func (c *floatCriterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.wanted = nil
	return c.criterion.Forward(output, targets)
}

// ForwardFloats implements sdk.FloatCriterion.
func (c *floatCriterion) ForwardFloats(output tensor.Tensor, targets []float32) (loss float64, err error) {
	c.output, c.lane = tensor.Tensor{}, c.dev.Compute()
	if err := criteria.CheckFloats(c.takes, output, targets); err != nil {
		return 0, err
	}
	if c.wanted, err = c.numbers.Put(targets); err != nil {
		return 0, err
	}
	rows, over := output.Shape[0], len(output.Data)
	switch c.takes {
	case sdk.ShareTargets: // every element has a loss
		rows = over
	case sdk.ProbabilityTargets:
		over = rows
	}
	if c.losses, err = engine.Grow(c.dev, c.losses, rows); err != nil {
		return 0, err
	}
	c.dev.Begin(device.Loss)
	c.floats(c.lane.Queue, c.losses, nil, output.Data, c.wanted, output.Shape[1])
	c.dev.End(device.Loss)
	return c.total(output, over)
}

// Backward implements sdk.Criterion.
func (c *floatCriterion) Backward(outputGradient tensor.Tensor) error {
	if c.wanted == nil {
		return c.criterion.Backward(outputGradient)
	}
	if err := criteria.CheckGradient(outputGradient, c.output); err != nil {
		return err
	}
	q := c.dev.Compute().Queue
	c.dev.Begin(device.LossGradient)
	c.floats(q, nil, outputGradient.Data, c.output.Data, c.wanted, c.output.Shape[1])
	c.dev.End(device.LossGradient)
	return q.Err()
}
