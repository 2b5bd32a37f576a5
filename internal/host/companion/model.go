package companion

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// ModelRole runs a model in a companion.
type ModelRole struct {
	*process.Process
	model     sdk.Model
	conn      *call.Link
	mapped    bool             // values and gradients lie in the trainer's memory
	sparse    []*tensor.Bucket // by parameter; nil for a dense one
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	batch     batches.Memory
	gradient  tensor.Tensor // gradient of the output
	features  []float32     // gradient of the features
	own       [2][]float32  // both of them, if they do not lie in shared memory
	calling   sync.Mutex    // held while the model runs
}

// NewModel builds a model that runs in a companion of its trainer.
func NewModel(p *process.Process, env sdk.ModelEnv) (*ModelRole, error) {
	env.Engine = p.Engine
	model, err := hosted.NewModel(p, p.Part(), env)
	if err != nil {
		return nil, err
	}
	if hosted.StepOf(model) != nil {
		return nil,
			fmt.Errorf("%s: %s steps its parameters itself, so it must be in one process with its trainer: choose them of one plugin, and do not isolate it",
				p.Name(), p.Title())
	}
	return &ModelRole{Process: p, model: model}, nil
}

// DescribeModel returns the model's description for the trainer and the core.
func (r *ModelRole) DescribeModel() *layout.Model { return layout.Describe(r.model) }

// Connect waits for the trainer, binds the model to these buckets and returns the part's facts.
func (r *ModelRole) Connect(trainer process.Peer, buckets []tensor.BucketSpec) (map[string]string, error) {
	var err error
	if r.conn, err = acceptTrainer(r.Process, trainer); err != nil {
		return nil, err
	}
	r.mapped = r.Fabric.Maps()
	params := r.model.Parameters()
	newStore := func(specs []tensor.BucketSpec) (*comm.Store, error) {
		return r.Fabric.ReceiveStore(r.conn.Conn, specs)
	}
	var store *comm.Store
	if r.gradients, store, err = layout.New(params, buckets, newStore); err != nil {
		return nil, err
	}
	r.OwnMemory(store)
	r.OwnMemory(&r.batch)
	r.sparse = layout.SparseBuckets(len(params), store)
	if r.values, err = r.parameters(params); err != nil {
		return nil, err
	}
	if err := r.model.Bind(r.values, r.gradients); err != nil {
		return nil, err
	}
	if err := r.conn.Watch(r.Process); err != nil {
		return nil, err
	}
	r.Owned.Go(func() { serveCalls(r.Process, r.conn, r.answer) })
	return process.Facts(nil, r.model), nil
}

// parameters returns the memory of the parameters.
func (r *ModelRole) parameters(params []sdk.ParameterSpec) ([]tensor.Tensor, error) {
	if !r.mapped {
		return layout.NewValues(r.Engine, params)
	}
	segment, err := r.conn.ReceiveSegment(layout.ValuesBytes(params), false)
	if err != nil {
		return nil, err
	}
	r.OwnMemory(segment)
	return layout.ViewValues(segment.Bytes(), params), nil
}

func (r *ModelRole) answer(h *wire.Header) error {
	r.calling.Lock()
	defer r.calling.Unlock()
	switch h.Op {
	case opInitialize:
		r.model.Initialize(uint64(h.Arg)) // #nosec G115 -- the bits of a seed
		if err := hosted.FailureOf(r.model); err != nil {
			return err
		}
		if !r.mapped {
			if err := sendValues(r.conn, r.values); err != nil {
				return err
			}
		}
		return r.conn.Send(&wire.Header{Op: opInitialize})
	case opValue:
		if h.Arg < 0 || h.Arg >= int64(len(r.values)) || r.mapped {
			return fmt.Errorf("the model takes no values of parameter %d", h.Arg)
		}
		return call.ReadFloats(r.conn, h, r.values[h.Arg].Data)
	case opForward:
		return r.forward(h, r.model.Forward)
	case opEvaluate:
		return r.forward(h, sdk.Evaluator(r.model))
	case opBackward:
		r.features = nil
		return r.backward(h, r.model.Backward)
	case opBackwardInput:
		return r.backwardInput(h)
	default:
		return fmt.Errorf("a model does not know operation %#x", h.Op)
	}
}

func (r *ModelRole) forward(h *wire.Header, run func(*sdk.Batch) (tensor.Tensor, error)) error {
	if err := r.batch.Read(r.conn, h); err != nil {
		return err
	}
	out, err := run(&r.batch.Batch)
	if err != nil {
		return err
	}
	r.gradient.Shape = append(r.gradient.Shape[:0], out.Shape...)
	answer := wire.Header{Op: h.Op, Arg: int64(out.Shape[0]), Arg2: int64(out.Shape[1])}
	return r.conn.Send(&answer, tensor.Float32Bytes(out.Data))
}

// backwardInput works like backward. The last answer of backwardInput carries the gradient of the
// features.
func (r *ModelRole) backwardInput(h *wire.Header) error {
	model, ok := r.model.(sdk.FeatureModel)
	if !ok {
		return fmt.Errorf("the model has no gradient of its features")
	}
	r.features = nil
	return r.backward(h, func(up tensor.Tensor, emit func(int)) (err error) {
		if r.features, err = call.PlaceFloats(r.conn, &r.own[1], len(r.batch.Features)); err != nil {
			return err
		}
		return model.BackwardInput(up, r.features, emit)
	})
}

// backward sends each gradient as soon as it is ready, so that reductions overlap with the rest of
// backward. After the gradients, backward sends the gradient of the features.
func (r *ModelRole) backward(h *wire.Header, run func(tensor.Tensor, func(int)) error) (err error) {
	n := tensor.Elements(r.gradient.Shape)
	if h.Payload != uint64(4*n) { // #nosec G115 -- a length
		return fmt.Errorf("%s sent %d bytes where %d are due", r.conn.Peer(), h.Payload, 4*n)
	}
	if r.gradient.Data, err = call.TakeFloats(r.conn, &r.own[0], n); err != nil {
		return err
	}
	var sent error
	err = run(r.gradient, func(k int) {
		if sent != nil {
			return
		}
		g := r.gradients[k]
		out := wire.Header{Op: opGradient, Arg: int64(k), Arg2: int64(len(g.Values)), Rows: int32(len(g.Rows))} // #nosec G115 -- rows are int32
		if !r.mapped {
			sent = r.conn.Send(&out, tensor.Int32Bytes(g.Rows), tensor.Float32Bytes(g.Values))
			return
		}
		if b := r.sparse[k]; b != nil {
			b.ShowRows(b.Gradient.Rows)
		}
		sent = r.conn.Send(&out)
	})
	if err == nil {
		err = sent
	}
	if err != nil {
		return err
	}
	return r.conn.Send(&wire.Header{Op: h.Op}, tensor.Float32Bytes(r.features))
}

// Reset clears the recorded values. The trainer initializes the model.
func (r *ModelRole) Reset() error {
	r.Recorder.Reset()
	return nil
}

// Collect sends the recorded values.
func (r *ModelRole) Collect(send record.Send) error {
	return collect(r.Process, &r.calling, r.model, send)
}
