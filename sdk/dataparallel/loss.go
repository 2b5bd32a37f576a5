package dataparallel

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// OutputGradient is the storage for the gradient of a model's output, in an engine's memory. The
// storage grows to the size of the largest batch.
type OutputGradient struct {
	engine engine.Engine
	tensor tensor.Tensor
}

// NewOutputGradient returns empty storage in the memory of e.
func NewOutputGradient(e engine.Engine) OutputGradient { return OutputGradient{engine: e} }

// Forwarder is the part of sdk.Model that Compute needs.
type Forwarder interface {
	Forward(b *sdk.Batch) (tensor.Tensor, error)
}

// Compute runs the forward passes of the model and the criterion on b, and the backward pass of the
// criterion. Compute returns the loss, the loss's gradient with respect to the model's output, and
// the end of the forward pass in ns of comm.Now. The gradient is valid until the next call.
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

// For returns a tensor with the shape of output. The tensor is valid until the next call.
func (g *OutputGradient) For(output tensor.Tensor) (tensor.Tensor, error) {
	data, err := engine.Grow(g.engine, g.tensor.Data, len(output.Data))
	g.tensor.Shape, g.tensor.Data = append(g.tensor.Shape[:0], output.Shape...), data
	return g.tensor, err
}
