package sdk

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// remoteModel stands for a model in a companion. The trainer owns parameters
// and gradients; the companion holds copies, which each Forward refreshes and
// each Backward sends back, read straight into the buckets.
type remoteModel struct {
	conn      *comm.Conn
	timeout   time.Duration
	specs     []ParameterSpec
	inputs    InputSpec
	values    []comm.Tensor
	gradients []*comm.Gradient
	output    comm.Tensor
	failed    error // of Initialize, told by the next Forward
}

func newRemoteModel(conn *comm.Conn, d *proto.ModelDescription, timeout time.Duration) *remoteModel {
	return &remoteModel{
		conn: conn, timeout: timeout, specs: parametersFromProto(d),
		inputs: InputSpec{Rows: int(d.GetRows()), Classes: int(d.GetClasses())},
	}
}

func (m *remoteModel) Parameters() []ParameterSpec { return m.specs }
func (m *remoteModel) Inputs() InputSpec           { return m.inputs }

func (m *remoteModel) Bind(values []comm.Tensor, gradients []*comm.Gradient) error {
	m.values, m.gradients = values, gradients
	return nil
}

func (m *remoteModel) Initialize(seed uint64) { m.failed = m.initialize(seed) }

func (m *remoteModel) initialize(seed uint64) error {
	h := comm.Header{Op: opInitialize, Arg: int64(seed)} // #nosec G115 -- the bits of a seed
	if err := m.send(&h); err != nil {
		return err
	}
	for range m.values {
		if err := readAnswer(m.conn, &h); err != nil {
			return err
		}
		if h.Op != opValue || h.Arg < 0 || h.Arg >= int64(len(m.values)) {
			return fmt.Errorf("%s sent operation %#x for parameter %d where a value is due", m.conn.Peer(), h.Op, h.Arg)
		}
		if err := readFloats(m.conn, &h, m.values[h.Arg].Data); err != nil {
			return err
		}
	}
	return nil
}

// send starts a call: its answer is due within the timeout.
func (m *remoteModel) send(h *comm.Header, payload ...[]byte) error {
	if err := bound(m.conn, m.timeout); err != nil {
		return err
	}
	return m.conn.Send(h, payload...)
}

func (m *remoteModel) Forward(b *Batch) (comm.Tensor, error) {
	if m.failed != nil {
		return comm.Tensor{}, m.failed
	}
	if err := bound(m.conn, m.timeout); err != nil {
		return comm.Tensor{}, err
	}
	for k, v := range m.values {
		if err := m.conn.Send(&comm.Header{Op: opValue, Arg: int64(k)}, comm.Float32Bytes(v.Data)); err != nil {
			return comm.Tensor{}, err
		}
	}
	if err := sendBatch(m.conn, opForward, b); err != nil {
		return comm.Tensor{}, err
	}
	var h comm.Header
	if err := readAnswer(m.conn, &h); err != nil {
		return comm.Tensor{}, err
	}
	if h.Arg != int64(b.Size()) || !fits(h.Arg, h.Arg2) || h.Payload != uint64(4*h.Arg*h.Arg2) { // #nosec G115 -- neither is negative
		return comm.Tensor{}, fmt.Errorf("%s answered a batch of %d with an output of %d x %d", m.conn.Peer(), b.Size(), h.Arg, h.Arg2)
	}
	var err error
	m.output.Shape = append(m.output.Shape[:0], int(h.Arg), int(h.Arg2))
	m.output.Data, err = readGrowing(m.conn, m.output.Data, int(h.Arg*h.Arg2), comm.Float32Bytes)
	return m.output, err
}

func (m *remoteModel) Backward(outputGradient comm.Tensor, emit func(parameter int)) error {
	if err := m.send(&comm.Header{Op: opBackward}, comm.Float32Bytes(outputGradient.Data)); err != nil {
		return err
	}
	var h comm.Header
	for {
		if err := readAnswer(m.conn, &h); err != nil {
			return err
		}
		if h.Op == opBackward {
			return nil
		}
		if h.Op != opGradient || h.Arg < 0 || h.Arg >= int64(len(m.gradients)) {
			return fmt.Errorf("%s sent operation %#x for parameter %d where a gradient is due", m.conn.Peer(), h.Op, h.Arg)
		}
		k := int(h.Arg)
		if err := m.readGradient(&h, m.gradients[k], m.specs[k]); err != nil {
			return err
		}
		emit(k)
	}
}

func (m *remoteModel) readGradient(h *comm.Header, g *comm.Gradient, spec ParameterSpec) error {
	if !g.Sparse() {
		return readFloats(m.conn, h, g.Values)
	}
	if err := g.SetRows(int(h.Rows)); err != nil {
		return fmt.Errorf("%s: %w", m.conn.Peer(), err)
	}
	if h.Payload != uint64(4*(len(g.Rows)+len(g.Values))) {
		return fmt.Errorf("%s sent %d rows in %d bytes", m.conn.Peer(), h.Rows, h.Payload)
	}
	if err := m.conn.ReadFull(comm.Int32Bytes(g.Rows)); err != nil {
		return err
	}
	if err := comm.CheckRows(g.Rows, spec.Shape[0]); err != nil {
		return fmt.Errorf("%s sent a gradient of parameter %s with %w", m.conn.Peer(), spec.Name, err)
	}
	return m.conn.ReadFull(comm.Float32Bytes(g.Values))
}

// modelRole hosts a model in a companion.
type modelRole struct {
	*station
	model     Model
	conn      *comm.Conn
	values    []comm.Tensor
	gradients []*comm.Gradient
	batch     Batch
	gradient  comm.Tensor // of the output
}

func newModelRole(st *station) (*modelRole, error) {
	model, err := build[Model](st, st.req.GetPart(), st.modelEnv())
	return &modelRole{station: st, model: model}, err
}

func (r *modelRole) describeModel() *proto.ModelDescription { return modelToProto(r.model) }

func (r *modelRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var err error
	r.values, r.gradients, _, err = layOut(r.model.Parameters(), BucketsFromProto(req.GetBuckets()))
	if err != nil {
		return nil, err
	}
	if err := r.model.Bind(r.values, r.gradients); err != nil {
		return nil, err
	}
	if r.conn, err = r.acceptTrainer(req); err != nil {
		return nil, err
	}
	r.own(r.conn)
	r.owned.Go(func() { r.serveCalls(r.conn, r.answer) })
	return &proto.ConnectReply{Facts: facts(nil, r.model)}, nil
}

func (r *modelRole) answer(h *comm.Header) error {
	switch h.Op {
	case opInitialize:
		r.model.Initialize(uint64(h.Arg)) // #nosec G115 -- the bits of a seed
		for k, v := range r.values {
			if err := r.conn.Send(&comm.Header{Op: opValue, Arg: int64(k)}, comm.Float32Bytes(v.Data)); err != nil {
				return err
			}
		}
		return nil
	case opValue:
		if h.Arg < 0 || h.Arg >= int64(len(r.values)) {
			return fmt.Errorf("the model has no parameter %d", h.Arg)
		}
		return readFloats(r.conn, h, r.values[h.Arg].Data)
	case opForward:
		return r.forward(h)
	case opBackward:
		return r.backward(h)
	default:
		return fmt.Errorf("a model does not know operation %#x", h.Op)
	}
}

func (r *modelRole) forward(h *comm.Header) error {
	if err := readBatch(r.conn, h, &r.batch); err != nil {
		return err
	}
	out, err := r.model.Forward(&r.batch)
	if err == nil {
		err = checkOutput(out)
	}
	if err != nil {
		return err
	}
	r.gradient.Shape = append(r.gradient.Shape[:0], out.Shape...)
	if cap(r.gradient.Data) < len(out.Data) {
		r.gradient.Data = make([]float32, len(out.Data))
	}
	r.gradient.Data = r.gradient.Data[:len(out.Data)]
	answer := comm.Header{Op: opForward, Arg: int64(out.Shape[0]), Arg2: int64(out.Shape[1])}
	return r.conn.Send(&answer, comm.Float32Bytes(out.Data))
}

// backward sends each gradient as it is ready, so that buckets fly while the
// rest of backward runs.
func (r *modelRole) backward(h *comm.Header) error {
	if err := readFloats(r.conn, h, r.gradient.Data); err != nil {
		return err
	}
	var sent error
	err := r.model.Backward(r.gradient, func(k int) {
		if sent != nil {
			return
		}
		g := r.gradients[k]
		out := comm.Header{Op: opGradient, Arg: int64(k), Rows: int32(len(g.Rows))} // #nosec G115 -- rows are int32
		sent = r.conn.Send(&out, comm.Int32Bytes(g.Rows), comm.Float32Bytes(g.Values))
	})
	if err == nil {
		err = sent
	}
	if err != nil {
		return err
	}
	return r.conn.Send(&comm.Header{Op: opBackward})
}

func (r *modelRole) reset() error { return nil }

func (r *modelRole) collect(send func(*proto.CollectReply) error) error { return r.collectSeries(send) }
