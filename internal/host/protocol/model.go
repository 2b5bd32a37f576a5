package protocol

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// model represents a model in a companion. Parameter values and gradients lie in segments that the
// part maps. Only the rows of sparse gradients are copied. The output lies in the part's memory.
// Batches and output gradients are copied to shared memory.
type model struct {
	link      *link
	specs     []sdk.ParameterSpec
	inputs    sdk.InputSpec
	evaluates bool             // whether the part has its own Evaluate
	sparse    []*tensor.Bucket // by parameter; nil for a dense one
	gradients []*tensor.Gradient
	emissions hosted.Emissions
	output    tensor.Tensor
	failed    error // error of Initialize, which the next Forward returns

	indices, offsets, features, targets room
	floatTargets                        room
	outputGradient, featureGradient     room
}

// Memory holds the segments of the model's parameters and buckets.
type Memory struct {
	Values *shm.Segment
	Store  *comm.Store
}

// NewModel connects to a companion with the model that d describes. NewModel measures the median
// round trip of a no-op call. The parameters and gradients lie in the segments of memory.
func NewModel(p *process.Process, peer process.Peer, d *layout.Model,
	memory Memory) (m sdk.Model, tripNS int64, err error) {
	l, err := dial(p, peer, kind{gradients: len(d.Parameters), announces: map[role]int{roleOutput: 1}})
	if err != nil {
		return nil, 0, err
	}
	if tripNS, err = l.ping(); err != nil {
		return nil, 0, err
	}
	for _, s := range []*shm.Segment{memory.Values, memory.Store.Segment} {
		if err := l.share(s, false, 0); err != nil {
			return nil, 0, err
		}
	}
	if err := l.guardBuckets(memory.Store); err != nil {
		return nil, 0, err
	}
	made := &model{
		link: l, specs: d.Parameters, inputs: d.Inputs, evaluates: d.Evaluates,
		sparse:    layout.SparseBuckets(len(d.Parameters), memory.Store),
		emissions: hosted.NewEmissions(peer.Name, d.Parameters),
		indices:   room{role: roleIndices}, offsets: room{role: roleOffsets}, features: room{role: roleFeatures},
		targets:        room{role: roleTargets},
		floatTargets:   room{role: roleFloatTargets},
		outputGradient: room{role: roleOutputGradient}, featureGradient: room{role: roleFeatureGradient},
	}
	if d.FeatureGradient {
		return featureModel{made}, tripNS, nil
	}
	return made, tripNS, nil
}

// featureModel represents an sdk.FeatureModel in a companion.
type featureModel struct{ *model }

func (m *model) Parameters() []sdk.ParameterSpec { return m.specs }
func (m *model) Inputs() sdk.InputSpec           { return m.inputs }

// Bind implements sdk.Model. Bind tells the part where all parameters and gradients lie.
func (m *model) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.gradients = gradients
	for k, v := range values {
		at := tensor.Float32Bytes(v.Data)
		if err := m.link.show(roleValues, k, at, toLine(at)); err != nil {
			return err
		}
		g := gradients[k].Values
		if b := m.sparse[k]; b != nil {
			g = g[:cap(g)]
			rows := tensor.Int32Bytes(b.Shown)
			if err := m.link.show(roleGradientRows, k, rows, toLine(rows)); err != nil {
				return err
			}
		}
		if err := m.link.show(roleGradient, k, tensor.Float32Bytes(g), 0); err != nil { // more gradients follow
			return err
		}
	}
	_, err := m.link.call(&wire.Header{Op: opBind})
	return err
}

// Initialize implements sdk.Model.
func (m *model) Initialize(seed uint64) {
	_, m.failed = m.link.call(&wire.Header{Op: opInitialize, Arg: int64(seed)}) // #nosec G115 -- the bits of a seed
}

// Failure returns the error of the last Initialize.
func (m *model) Failure() error { return m.failed }

// Forward implements sdk.Model.
func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) { return m.forward(opForward, b) }

// Evaluate implements sdk.EvaluatingModel, whether or not the part does.
func (m *model) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	if !m.evaluates {
		return m.forward(opForward, b)
	}
	return m.forward(opEvaluate, b)
}

func (m *model) forward(op wire.Op, b *sdk.Batch) (tensor.Tensor, error) {
	if m.failed != nil {
		return tensor.Tensor{}, m.failed
	}
	if err := m.putBatch(b); err != nil {
		return tensor.Tensor{}, err
	}
	answer, err := m.link.call(&wire.Header{
		Op: op, Batch: int64(len(b.Indices)), Rows: int32(len(b.Offsets)), // #nosec G115 -- of a batch
		Arg: int64(len(b.Features)), Arg2: int64(len(b.Targets) + len(b.FloatTargets)), // one of the two is empty
		Bucket: int32(b.TargetWidth), // #nosec G115 -- of a sample
	})
	if err != nil {
		return tensor.Tensor{}, err
	}
	rows, columns := answer.Arg, answer.Arg2
	if rows != int64(b.Size()) || columns < 0 || columns > wire.MaxPayload/max(1, rows) {
		return tensor.Tensor{}, m.link.wrong("answered a batch of %d with an output of %d x %d", b.Size(), rows,
			columns)
	}
	at, err := m.link.view(roleOutput, 0, rows*columns)
	if err != nil {
		return tensor.Tensor{}, err
	}
	m.output.Shape = append(m.output.Shape[:0], int(rows), int(columns))
	m.output.Data = tensor.ViewFloat32(at)
	return m.output, nil
}

func (m *model) putBatch(b *sdk.Batch) error {
	if err := m.indices.put(m.link, tensor.Int64Bytes(b.Indices)); err != nil {
		return err
	}
	if err := m.offsets.put(m.link, tensor.Int64Bytes(b.Offsets)); err != nil {
		return err
	}
	if err := m.features.put(m.link, tensor.Float32Bytes(b.Features)); err != nil {
		return err
	}
	if b.TargetWidth > 0 {
		return m.floatTargets.put(m.link, tensor.Float32Bytes(b.FloatTargets))
	}
	return m.targets.put(m.link, tensor.Int64Bytes(b.Targets))
}

// Backward implements sdk.Model.
func (m *model) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	return m.backward(opBackward, outputGradient, emit)
}

// BackwardInput implements sdk.FeatureModel.
func (m featureModel) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) error {
	at, err := m.featureGradient.in(m.link, 4*len(inputGradient))
	if err == nil {
		err = m.backward(opBackwardInput, outputGradient, emit)
	}
	if err != nil {
		return err
	}
	copy(tensor.Float32Bytes(inputGradient), at)
	return nil
}

// backward emits each gradient when the part completes it, so that buckets are sent while the rest
// of backward runs.
func (m *model) backward(op wire.Op, outputGradient tensor.Tensor, emit func(parameter int)) error {
	if err := m.outputGradient.put(m.link, tensor.Float32Bytes(outputGradient.Data)); err != nil {
		return err
	}
	if err := m.link.begin(&wire.Header{Op: op}); err != nil {
		return err
	}
	m.emissions.Begin()
	for {
		h, err := m.link.next()
		if err != nil {
			return err
		}
		if h.Op == op {
			return m.blame(m.emissions.End())
		}
		// Further gradients would belong to no call, so the error ends the link.
		if err := m.complete(int(h.Bucket), h.Rows); err != nil {
			return m.link.fail(m.blame(err))
		}
		emit(int(h.Bucket))
	}
}

// blame returns an error that blames the part, or nil if err is nil.
func (m *model) blame(err error) error {
	if err == nil {
		return nil
	}
	return blame(m.link.conn.Peer(), err)
}

// complete accepts the gradient of a parameter. The values are already in place.
func (m *model) complete(k int, rows int32) error {
	if err := m.emissions.Add(k); err != nil {
		return err
	}
	b := m.sparse[k]
	if b == nil {
		if rows != 0 {
			return m.link.wrong("sent a gradient of %d rows of parameter %s, which is dense", rows, m.specs[k].Name)
		}
		return nil
	}
	if err := b.TakeRows(int(rows)); err != nil {
		return m.link.wrong("sent a gradient of parameter %s: %v", m.specs[k].Name, err)
	}
	if g := m.gradients[k]; g != &b.Gradient {
		return fmt.Errorf("the gradient of parameter %s is not its bucket's gradient", m.specs[k].Name)
	}
	return nil
}

// Step makes the part update its parameters with the reduced gradients. Step first sends the rows
// of sparse gradients.
func (m *model) Step() error {
	for k, b := range m.sparse {
		if b != nil {
			b.ShowRows(b.Gradient.Rows)
			m.link.post(&wire.Header{Op: opGradient, Bucket: int32(k), Rows: int32(len(b.Gradient.Rows))}) // #nosec G115 -- counts
		}
	}
	_, err := m.link.call(&wire.Header{Op: opStep})
	return err
}
