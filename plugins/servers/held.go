package servers

import (
	"fmt"
	"io"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// held is the parameters of a model and the gradients that an update steps them by, in the
// memory of an engine, and both in the layout of the buckets in ordinary memory, where gradients
// are added up: a bucket of parameters is an answer. Where Go can touch the engine's memory they
// are the same; elsewhere each update copies the sum in and the parameters out.
type held struct {
	engine          engine.Engine
	specs           []sdk.ParameterSpec
	values          []tensor.Tensor
	gradients       []*tensor.Gradient
	parameters, sum *comm.Store
	adopted         io.Closer // both, by the engine that copies from and to them
}

// newHeld makes room for the parameters of the server's model.
func newHeld(env *sdk.ServerEnv) (h *held, err error) {
	h = &held{
		engine: env.Engine, specs: env.Model.Parameters(),
		parameters: comm.NewStore(env.Buckets), sum: comm.NewStore(env.Buckets),
	}
	for _, p := range h.specs {
		if p.Sparse {
			return nil, fmt.Errorf("parameter %s has a sparse gradient, which the batch_update server cannot add up: make the model's gradients dense", p.Name)
		}
	}
	h.adopted, err = engine.Adopt(h.engine, "buckets", slices.Concat(h.parameters.Memory(), h.sum.Memory()))
	if err != nil {
		return nil, err
	}
	adopted := h.adopted
	defer func() {
		if err != nil {
			_ = adopted.Close() // what failed first is told
		}
	}()
	h.values, h.gradients = make([]tensor.Tensor, len(h.specs)), make([]*tensor.Gradient, len(h.specs))
	for i, spec := range env.Buckets {
		values, err := h.beside(h.parameters.Buckets[i])
		if err != nil {
			return nil, err
		}
		gradients, err := h.beside(h.sum.Buckets[i])
		if err != nil {
			return nil, err
		}
		for _, span := range spec.Parameters {
			if span.Parameter >= len(h.specs) {
				return nil, fmt.Errorf("bucket %d holds parameter %d but the model of %s has %d parameters", i, span.Parameter, env.Name, len(h.specs))
			}
			from, to := span.Offset, span.Offset+span.Elements
			h.values[span.Parameter] = tensor.Tensor{Shape: h.specs[span.Parameter].Shape, Data: values[from:to]}
			h.gradients[span.Parameter] = &tensor.Gradient{Values: gradients[from:to]}
		}
	}
	return h, nil
}

// Close implements io.Closer.
func (h *held) Close() error { return h.adopted.Close() }

// beside is the engine's memory for what a bucket holds.
func (h *held) beside(b *tensor.Bucket) ([]float32, error) {
	if h.engine.Addressable() {
		return b.Gradient.Values, nil
	}
	return engine.Floats(h.engine, b.Elements)
}

// takeSum has the gradients be the sum.
func (h *held) takeSum() error {
	return h.each(h.sum, func(k int, bucket []float32) error { return engine.In(h.engine, h.gradients[k].Values, bucket) })
}

// showParameters has the buckets of parameters hold the values.
func (h *held) showParameters() error {
	return h.each(h.parameters, func(k int, bucket []float32) error { return engine.Out(h.engine, bucket, h.values[k].Data) })
}

// each copies every parameter from or to its place in a store, unless it lies there.
func (h *held) each(store *comm.Store, copying func(parameter int, bucket []float32) error) error {
	if h.engine.Addressable() {
		return nil
	}
	for _, b := range store.Buckets {
		for _, span := range b.Parameters {
			if err := copying(span.Parameter, b.Gradient.Values[span.Offset:span.Offset+span.Elements]); err != nil {
				return err
			}
		}
	}
	return nil
}
