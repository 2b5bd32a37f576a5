package companion

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

// remoteModel represents, in the trainer's process, a model that runs in a companion. The trainer
// owns parameters and gradients.
//
// With shared memory, the companion maps both. The exception is the row numbers of sparse gradients:
// the companion shows them in the buckets' memory, and the trainer copies them from there. Without
// shared memory, the companion holds copies. Each Forward sends the parameters to the companion.
// Each Backward returns the gradients, which are read straight into the buckets.
type remoteModel struct {
	conn      *call.Link
	mapped    bool             // the companion maps values and gradients
	sparse    []*tensor.Bucket // if mapped: by parameter; nil for a dense one
	timeout   time.Duration
	specs     []sdk.ParameterSpec
	inputs    sdk.InputSpec
	evaluates bool // whether the model is an sdk.EvaluatingModel
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	output    tensor.Tensor
	own       []float32 // the output, if it does not lie in shared memory
	emissions hosted.Emissions
	failed    error // error of Initialize, which the next Forward returns
}

// NewRemoteModel returns the trainer's stand-in for a companion's model. The stand-in is a
// FeatureModel if the model is one. newRemoteModel documents the arguments.
func NewRemoteModel(conn *call.Link, store *comm.Store, d *layout.Model, timeout time.Duration) sdk.Model {
	m := newRemoteModel(conn, store, d, timeout)
	if d.FeatureGradient {
		return remoteFeatureModel{m}
	}
	return m
}

// newRemoteModel returns the trainer's stand-in for a companion's model. store holds the buckets
// that the companion maps; store is nil if it maps none.
func newRemoteModel(conn *call.Link, store *comm.Store, d *layout.Model, timeout time.Duration) *remoteModel {
	specs := d.Parameters
	m := &remoteModel{
		conn: conn, timeout: timeout, specs: specs,
		inputs: d.Inputs, evaluates: d.Evaluates, emissions: hosted.NewEmissions(conn.Peer(), specs),
	}
	if store != nil {
		m.mapped, m.sparse = true, layout.SparseBuckets(len(specs), store)
	}
	return m
}

// remoteFeatureModel is the stand-in for a FeatureModel in a companion.
type remoteFeatureModel struct{ *remoteModel }

// BackwardInput implements FeatureModel.
func (m remoteFeatureModel) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) error {
	return m.backward(opBackwardInput, outputGradient, inputGradient, emit)
}

func (m *remoteModel) Parameters() []sdk.ParameterSpec { return m.specs }
func (m *remoteModel) Inputs() sdk.InputSpec           { return m.inputs }

func (m *remoteModel) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.values, m.gradients = values, gradients
	return nil
}

func (m *remoteModel) Initialize(seed uint64) { m.failed = m.initialize(seed) }

// Failure returns the error of the last Initialize.
func (m *remoteModel) Failure() error { return m.failed }

func (m *remoteModel) initialize(seed uint64) error {
	h := wire.Header{Op: opInitialize, Arg: int64(seed)} // #nosec G115 -- the bits of a seed
	if err := m.send(&h); err != nil {
		return err
	}
	for {
		if err := call.ReadAnswer(m.conn, &h); err != nil {
			return err
		}
		if h.Op == opInitialize {
			return nil
		}
		if h.Op != opValue || h.Arg < 0 || h.Arg >= int64(len(m.values)) || m.mapped {
			return fmt.Errorf("%s sent operation %#x for parameter %d where a value is due", m.conn.Peer(), h.Op, h.Arg)
		}
		if err := call.ReadFloats(m.conn, &h, m.values[h.Arg].Data); err != nil {
			return err
		}
	}
}

// send starts a call, whose answer must arrive within the timeout.
func (m *remoteModel) send(h *wire.Header, payload ...[]byte) error {
	if err := m.conn.Bound(m.timeout); err != nil {
		return err
	}
	return m.conn.Send(h, payload...)
}

func (m *remoteModel) Forward(b *sdk.Batch) (tensor.Tensor, error) { return m.forward(opForward, b) }

// Evaluate implements sdk.EvaluatingModel, whether or not the model does.
func (m *remoteModel) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	if !m.evaluates {
		return m.forward(opForward, b)
	}
	return m.forward(opEvaluate, b)
}

func (m *remoteModel) forward(op wire.Op, b *sdk.Batch) (tensor.Tensor, error) {
	if m.failed != nil {
		return tensor.Tensor{}, m.failed
	}
	if err := m.conn.Bound(m.timeout); err != nil {
		return tensor.Tensor{}, err
	}
	if !m.mapped {
		if err := sendValues(m.conn, m.values); err != nil {
			return tensor.Tensor{}, err
		}
	}
	if err := batches.Send(m.conn, op, b); err != nil {
		return tensor.Tensor{}, err
	}
	var h wire.Header
	if err := call.ReadAnswer(m.conn, &h); err != nil {
		return tensor.Tensor{}, err
	}
	if h.Arg != int64(b.Size()) || !call.Fits(h.Arg, h.Arg2) || h.Payload != uint64(4*h.Arg*h.Arg2) { // #nosec G115 -- neither is negative
		return tensor.Tensor{}, fmt.Errorf("%s answered a batch of %d with an output of %d x %d", m.conn.Peer(),
			b.Size(), h.Arg, h.Arg2)
	}
	var err error
	m.output.Shape = append(m.output.Shape[:0], int(h.Arg), int(h.Arg2))
	m.output.Data, err = call.TakeFloats(m.conn, &m.own, int(h.Arg*h.Arg2))
	return m.output, err
}

func (m *remoteModel) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	return m.backward(opBackward, outputGradient, nil, emit)
}

// backward runs op, whose last answer is the gradient of the features.
func (m *remoteModel) backward(op wire.Op, outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) error {
	if err := m.send(&wire.Header{Op: op}, tensor.Float32Bytes(outputGradient.Data)); err != nil {
		return err
	}
	m.emissions.Begin()
	var h wire.Header
	for {
		if err := call.ReadAnswer(m.conn, &h); err != nil {
			return err
		}
		if h.Op == op {
			if err := m.emissions.End(); err != nil {
				return err
			}
			return call.ReadFloats(m.conn, &h, inputGradient)
		}
		if h.Op != opGradient {
			return fmt.Errorf("%s sent operation %#x where a gradient is due", m.conn.Peer(), h.Op)
		}
		k := int(h.Arg)
		// Check before reading: a gradient emitted earlier may be on its way over a link in the same
		// bucket.
		if err := m.emissions.Add(k); err != nil {
			return err
		}
		if err := m.readGradient(&h, k); err != nil {
			return err
		}
		emit(k)
	}
}

// sendValues sends the values of all parameters.
func sendValues(conn *call.Link, values []tensor.Tensor) error {
	for k, v := range values {
		if err := conn.Send(&wire.Header{Op: opValue, Arg: int64(k)}, tensor.Float32Bytes(v.Data)); err != nil {
			return err
		}
	}
	return nil
}

// readGradient reads the gradient that h announces into the gradient of parameter k. If the
// gradient is mapped, its values are already in place.
func (m *remoteModel) readGradient(h *wire.Header, k int) error {
	g, spec, bytes := m.gradients[k], &m.specs[k], 0
	if spec.Sparse {
		if err := g.SetRows(int(h.Rows)); err != nil {
			return fmt.Errorf("%s sent parameter %s: %w", m.conn.Peer(), spec.Name, err)
		}
	}
	if !m.mapped {
		bytes = 4 * (len(g.Rows) + len(g.Values))
	}
	if int(h.Rows) != len(g.Rows) || h.Arg2 != int64(len(g.Values)) || h.Payload != uint64(bytes) { // #nosec G115 -- a length
		return fmt.Errorf("%s sent a gradient of %d rows and %d values in %d bytes for parameter %s, where %d values in %d bytes are due",
			m.conn.Peer(), h.Rows, h.Arg2, h.Payload, spec.Name, len(g.Values), bytes)
	}
	var err error
	switch {
	case m.mapped && spec.Sparse:
		err = m.sparse[k].TakeRows(len(g.Rows))
	case !m.mapped:
		if err := m.conn.ReadFull(tensor.Int32Bytes(g.Rows)); err != nil {
			return err
		}
		if err := m.conn.ReadFull(tensor.Float32Bytes(g.Values)); err != nil {
			return err
		}
		if err = tensor.CheckRows(g.Rows, spec.Shape[0]); err != nil {
			err = fmt.Errorf("it has %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("%s sent a gradient of parameter %s: %w", m.conn.Peer(), spec.Name, err)
	}
	return nil
}
