package dataparallel

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// OutputGradient is the storage for the gradient of a model's output, in the memory of an
// engine. It grows to the largest batch.
type OutputGradient struct {
	engine engine.Engine
	tensor tensor.Tensor
}

// NewOutputGradient makes storage of an engine's memory.
func NewOutputGradient(e engine.Engine) OutputGradient { return OutputGradient{engine: e} }

// Forwarder is a model as the forward pass needs it.
type Forwarder interface {
	Forward(b *sdk.Batch) (tensor.Tensor, error)
}

// Compute runs a model and a criterion forward on b, and the criterion back. It gives
// the loss, its gradient with respect to the model's output, which is valid until the
// next call, and when the forward pass ended, in ns of comm.Now.
func (g *OutputGradient) Compute(m Forwarder, c sdk.Criterion,
	b *sdk.Batch) (loss float64, gradient tensor.Tensor, forwardEndNS int64, err error) {
	output, err := m.Forward(b)
	if err == nil {
		loss, err = sdk.Loss(c, output, b)
	}
	forwardEndNS = comm.Now()
	if err == nil {
		gradient, err = g.For(output)
	}
	if err == nil {
		err = c.Backward(gradient)
	}
	return loss, gradient, forwardEndNS, err
}

// For is a tensor of output's shape. It is valid until the next For.
func (g *OutputGradient) For(output tensor.Tensor) (tensor.Tensor, error) {
	data, err := engine.Grow(g.engine, g.tensor.Data, len(output.Data))
	g.tensor.Shape, g.tensor.Data = append(g.tensor.Shape[:0], output.Shape...), data
	return g.tensor, err
}
