package sdk

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// modelRole hosts a model in a companion.
type modelRole struct {
	*station
	model     Model
	conn      *callLink
	mapped    bool             // values and gradients lie in the trainer's memory
	sparse    []*tensor.Bucket // by parameter; nil for a dense one
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	batch     batchMemory
	gradient  tensor.Tensor // of the output
	features  []float32     // gradient of the features
}

func newModelRole(st *station) (*modelRole, error) {
	model, err := buildModel(st, st.req.GetPart())
	return &modelRole{station: st, model: model}, err
}

func (r *modelRole) describeModel() *proto.ModelDescription { return modelToProto(r.model) }

func (r *modelRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var err error
	if r.conn, err = acceptTrainer(r.station, req); err != nil {
		return nil, err
	}
	r.own(r.conn)
	r.mapped = r.transport() == comm.Shm
	params, newStore := r.model.Parameters(), heapStore
	if r.mapped {
		newStore = r.conn.ReceiveStore
	}
	if err := takeMemory(r.station, r.conn); err != nil {
		return nil, err
	}
	var store *comm.Store
	if r.gradients, store, err = layOut(params, BucketsFromProto(req.GetBuckets()), newStore); err != nil {
		return nil, err
	}
	r.own(store)
	r.own(&r.batch)
	r.sparse = sparseBuckets(len(params), store)
	if r.values, err = r.parameters(params); err != nil {
		return nil, err
	}
	if err := r.model.Bind(r.values, r.gradients); err != nil {
		return nil, err
	}
	r.owned.Go(func() { serveCalls(r.station, r.conn, r.answer) })
	return &proto.ConnectReply{Facts: facts(nil, r.model)}, nil
}

// parameters finds the memory of the parameters.
func (r *modelRole) parameters(params []ParameterSpec) ([]tensor.Tensor, error) {
	if !r.mapped {
		return newValues(params), nil
	}
	segment, err := r.conn.ReceiveSegment(valuesBytes(params), false)
	if err != nil {
		return nil, err
	}
	r.own(segment)
	return viewValues(segment.Bytes(), params), nil
}

func (r *modelRole) answer(h *comm.Header) error {
	switch h.Op {
	case opInitialize:
		r.model.Initialize(uint64(h.Arg)) // #nosec G115 -- the bits of a seed
		if err := failureOf(r.model); err != nil {
			return err
		}
		if !r.mapped {
			if err := sendValues(r.conn, r.values); err != nil {
				return err
			}
		}
		return r.conn.Send(&comm.Header{Op: opInitialize})
	case opValue:
		if h.Arg < 0 || h.Arg >= int64(len(r.values)) || r.mapped {
			return fmt.Errorf("the model takes no values of parameter %d", h.Arg)
		}
		return readFloats(r.conn, h, r.values[h.Arg].Data)
	case opForward:
		return r.forward(h)
	case opBackward:
		return r.backward(h, nil, r.model.Backward)
	case opBackwardInput:
		return r.backwardInput(h)
	default:
		return fmt.Errorf("a model does not know operation %#x", h.Op)
	}
}

func (r *modelRole) forward(h *comm.Header) error {
	if err := r.batch.read(r.conn, h); err != nil {
		return err
	}
	out, err := r.model.Forward(&r.batch.Batch)
	if err != nil {
		return err
	}
	r.gradient.Shape = append(r.gradient.Shape[:0], out.Shape...)
	if cap(r.gradient.Data) < len(out.Data) {
		r.gradient.Data = make([]float32, len(out.Data))
	}
	r.gradient.Data = r.gradient.Data[:len(out.Data)]
	answer := comm.Header{Op: opForward, Arg: int64(out.Shape[0]), Arg2: int64(out.Shape[1])}
	return r.conn.Send(&answer, tensor.Float32Bytes(out.Data))
}

// backwardInput is backward with the gradient of the features in its last answer.
func (r *modelRole) backwardInput(h *comm.Header) error {
	model, ok := r.model.(FeatureModel)
	if !ok {
		return fmt.Errorf("the model has no gradient of its features")
	}
	n := len(r.batch.Features)
	r.features = slices.Grow(r.features[:0], n)[:n]
	return r.backward(h, r.features, func(up tensor.Tensor, emit func(int)) error {
		return model.BackwardInput(up, r.features, emit)
	})
}

// backward sends each gradient as it is ready, so that buckets fly while the
// rest of backward runs, and then last.
func (r *modelRole) backward(h *comm.Header, last []float32, run func(tensor.Tensor, func(int)) error) error {
	if err := readFloats(r.conn, h, r.gradient.Data); err != nil {
		return err
	}
	var sent error
	err := run(r.gradient, func(k int) {
		if sent != nil {
			return
		}
		g := r.gradients[k]
		out := comm.Header{Op: opGradient, Arg: int64(k), Arg2: int64(len(g.Values)), Rows: int32(len(g.Rows))} // #nosec G115 -- rows are int32
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
	return r.conn.Send(&comm.Header{Op: h.Op}, tensor.Float32Bytes(last))
}

func (r *modelRole) reset() error { return nil }

func (r *modelRole) collect(send func(*proto.CollectReply) error) error { return r.collectSeries(send) }
