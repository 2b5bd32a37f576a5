package servers

import (
	"cmp"
	"fmt"
	"io"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
)

// held holds a model's parameters, and the gradients for its updates, in an engine's memory. held also keeps the
// parameters in ordinary memory in the layout of the buckets, because each answer is a bucket of parameters. If Go
// can access the engine's memory, both are the same memory. Otherwise, an answer copies the parameters out. If the
// trainer shares its buckets with the engine, the copy stays within the engine's memory.
type held struct {
	engine     engine.Engine
	specs      []sdk.ParameterSpec
	values     []tensor.Tensor
	gradients  []*tensor.Gradient // the means
	means      means
	parameters *comm.Store
	buckets    [][]float32 // parameters by bucket, in the engine's memory
	adopted    io.Closer   // the engine's registration of parameters, for copies
	shown      bool        // parameters hold the current values
	bus        *sdk.Counter
}

// newHeld allocates memory for the parameters of the server's model.
func newHeld(env *sdk.ServerEnv) (_ *held, err error) {
	h := &held{engine: env.Engine, specs: env.Model.Parameters(), parameters: comm.NewStore(env.Buckets)}
	for _, p := range h.specs {
		if p.Sparse {
			return nil,
				fmt.Errorf("parameter %s has a sparse gradient, which the batch_update server cannot add up: make the model's gradients dense",
					p.Name)
		}
	}
	if !h.engine.Addressable() { // otherwise nothing is copied
		h.bus = env.Recorder.Counter(dataparallel.StagingMetric, dataparallel.Bus, "B")
	}
	if h.means, err = newMeans(env, h.bus); err != nil {
		return nil, err
	}
	if h.adopted, err = engine.Adopt(h.engine, "buckets", h.parameters.Memory()); err != nil {
		_ = h.means.Close() // err is the first error
		return nil, err
	}
	if err := h.lay(env); err != nil {
		_ = h.Close() // err is the first error
		return nil, err
	}
	return h, nil
}

// lay arranges parameters and gradients in the layout of the buckets.
func (h *held) lay(env *sdk.ServerEnv) error {
	h.values, h.gradients = make([]tensor.Tensor, len(h.specs)), make([]*tensor.Gradient, len(h.specs))
	for i, spec := range env.Buckets {
		values, err := beside(h.engine, h.parameters.Buckets[i])
		if err != nil {
			return err
		}
		h.buckets = append(h.buckets, values)
		for _, span := range spec.Parameters {
			if span.Parameter >= len(h.specs) {
				return fmt.Errorf("bucket %d holds parameter %d but the model of %s has %d parameters", i,
					span.Parameter, env.Name, len(h.specs))
			}
			from, to := span.Offset, span.Offset+span.Elements
			h.values[span.Parameter] = tensor.Tensor{Shape: h.specs[span.Parameter].Shape, Data: values[from:to]}
			h.gradients[span.Parameter] = &tensor.Gradient{Values: h.means.memory(i)[from:to]}
		}
	}
	return nil
}

// Close implements io.Closer.
func (h *held) Close() error { return cmp.Or(h.adopted.Close(), h.means.Close()) }

// give answers a push with the parameters of its bucket. If the engine shares the trainer's memory, the answer goes
// there.
func (h *held) give(p sdk.Push) error {
	loan := borrow(h.engine, p.Gradient.Values)
	if loan == nil {
		if err := h.showParameters(); err != nil {
			return err
		}
		return p.Answer(&h.parameters.Buckets[p.Bucket].Gradient)
	}
	if err := h.engine.(engine.Borrower).Copy(p.Gradient.Values, h.buckets[p.Bucket]); err != nil {
		return err
	}
	if err := loan.Return(); err != nil {
		return err
	}
	return p.Answer(p.Gradient)
}

// showParameters copies the values to the buckets of parameters. showParameters waits once for all copies.
func (h *held) showParameters() error {
	if h.engine.Addressable() || h.shown {
		return nil
	}
	var last engine.Ticket
	for i, b := range h.parameters.Buckets {
		host := tensor.Float32Bytes(b.Gradient.Values)
		last = h.engine.CopyOut(host, tensor.Float32Bytes(h.buckets[i]))
		h.bus.Add(int64(len(host)))
	}
	err := h.engine.Wait(last)
	h.shown = err == nil
	return err
}
