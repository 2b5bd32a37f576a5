//go:build nvidia

package models

import (
	"errors"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/bags"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// dlrm implements the model dlrm of plugins/models. Bottom layers take a sample's numbers, and each table gives one
// row. The top layers take the products of every two of these vectors and the bottom layers' output.
type dlrm struct {
	base
	settings    models.DLRMSettings
	firstTensor int
	width       int // features per sample
	bottom, top *layers
	tables      *nn.Tables // computes rows in the stack; nil if servers hold the tables
	bags        *bags.Bags
	features    *device.Transfer[float32]
	back        *device.Transfer[float32] // gradient of the features, for the host

	batch    *sdk.Batch // batch of the last Forward; nil before the first Forward
	found    []int64    // row in the stack, by index of the batch
	output   tensor.Tensor
	input    []float32 // features, on the device
	dense    []float32 // output of the bottom layers, [samples, dim]
	rowsAt   []float32 // a sample's table rows; the next sample's begin stride elements later
	rowsGoTo []float32 // memory for their gradient, with the same layout
	stride   int

	// Memory for the samples of a batch. The memory grows to the largest batch.
	numbers, numbersGradient   []float32 // input of the bottom layers, if the features also contain rows
	inputGradient              []float32
	looked, lookedGradient     []float32 // rows of the model's own tables, [samples, tables, dim]
	combined, combinedGradient []float32 // input of the top layers
	denseGradient              []float32
}

var _ sdk.FeatureModel = (*dlrm)(nil)

// NewDLRM builds the model from the settings of plugins/models. The setting blas must be auto.
func NewDLRM(s models.DLRMSettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(env.MaxBatch); err != nil {
		return nil, err
	}
	b, err := newBase(env, s.BLAS)
	if err != nil {
		return nil, err
	}
	m := &dlrm{base: b, settings: s, firstTensor: env.FirstTensor, width: s.Inputs().Features,
		output: tensor.Tensor{Shape: []int{0, 1}}}
	m.bottom = newLayers(&m.base, s.BottomSizes(), func(int) bool { return true })
	m.top = newLayers(&m.base, s.TopSizes(), func(layer int) bool { return layer < len(s.TopLayers)-1 })
	if s.Tables == models.TablesInModel {
		m.tables = nn.NewTables(s.TableRows, s.EmbeddingDim)
	}
	if m.bags, err = bags.New(m.dev, m.lane); err != nil {
		return nil, err
	}
	if m.features, err = device.NewTransfer[float32](m.dev, m.lane); err != nil {
		return nil, err
	}
	m.back, err = device.NewTransfer[float32](m.dev, m.lane)
	return m, err
}

func (m *dlrm) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *dlrm) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

// Bind implements sdk.Model.
func (m *dlrm) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := m.bind(m.Parameters(), values, gradients); err != nil {
		return err
	}
	bottom, top := m.settings.Embedding(), m.settings.Top()
	m.bottom.bind(values[:bottom], gradients[:bottom])
	m.top.bind(values[top:], gradients[top:])
	return nil
}

// Initialize implements sdk.Model.
func (m *dlrm) Initialize(seed uint64) {
	m.initialize(func(k int, values []float32) { m.settings.Draw(seed, m.firstTensor, k, values) })
	m.batch = nil
}

// Forward implements sdk.Model.
func (m *dlrm) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = nil
	if err := m.begin("dlrm", b); err != nil {
		return tensor.Tensor{}, err
	}
	if err := checkFeatures(b, m.width); err != nil {
		return tensor.Tensor{}, err
	}
	n := b.Size()
	if err := m.resize(n); err != nil {
		return tensor.Tensor{}, err
	}
	var err error
	if m.input, err = m.features.Put(b.Features); err != nil {
		return tensor.Tensor{}, err
	}
	numbers, err := m.lookUp(b)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if m.dense, err = m.bottom.forward(numbers); err != nil {
		return tensor.Tensor{}, err
	}
	s, q := &m.settings, m.lane.Queue
	q.Interaction(m.combined, m.dense, m.rowsAt, len(s.TableRows), s.EmbeddingDim, m.stride)
	if m.output.Data, err = m.top.forward(m.combined); err != nil {
		return tensor.Tensor{}, err
	}
	m.output.Shape[0], m.batch = n, b
	return m.output, m.end(device.Forward)
}

// lookUp sets the place of the batch's rows: either it looks them up in the model's tables, or they are part of the
// features. lookUp returns the input of the bottom layers.
func (m *dlrm) lookUp(b *sdk.Batch) (numbers []float32, err error) {
	s, q := &m.settings, m.lane.Queue
	if m.tables == nil {
		m.stride = s.DenseFeatures + s.LookedUp()
		m.rowsAt, m.rowsGoTo = m.input[s.DenseFeatures:], m.inputGradient[s.DenseFeatures:]
		q.CopyColumns(m.numbers, s.DenseFeatures, m.input, m.stride, b.Size(), s.DenseFeatures)
		return m.numbers, nil
	}
	m.stride, m.rowsAt, m.rowsGoTo = s.LookedUp(), m.looked, m.lookedGradient
	if m.found, err = m.tables.Resolve(b); err != nil {
		return nil, err
	}
	if err := m.bags.Send(m.found, nil); err != nil {
		return nil, err
	}
	q.GatherRows(m.looked, m.values[s.Embedding()].Data, s.EmbeddingDim, m.bags.Indices)
	return m.input, nil
}

// resize allocates memory for n samples.
func (m *dlrm) resize(n int) error {
	s := &m.settings
	tables := len(s.TableRows)
	width := s.EmbeddingDim + tables*(tables+1)/2
	var err error
	resize := func(x *[]float32, n int) {
		if err == nil {
			*x, err = engine.Grow(m.dev, *x, n)
		}
	}
	resize(&m.inputGradient, n*m.width)
	if m.tables == nil {
		resize(&m.numbers, n*s.DenseFeatures)
		resize(&m.numbersGradient, n*s.DenseFeatures)
	} else {
		resize(&m.looked, n*s.LookedUp())
		resize(&m.lookedGradient, n*s.LookedUp())
	}
	resize(&m.denseGradient, n*s.EmbeddingDim)
	resize(&m.combined, n*width)
	resize(&m.combinedGradient, n*width)
	return err
}

// Evaluate implements sdk.EvaluatingModel. Evaluate does a Forward that is measured as an evaluation.
func (m *dlrm) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	m.dev.Evaluate()
	return m.Forward(b)
}

// Backward implements sdk.Model.
func (m *dlrm) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	if m.tables == nil {
		return errors.New("the dlrm model's rows are looked up, so it must be asked for the gradient of its features")
	}
	return m.backward(outputGradient, nil, emit)
}

// BackwardInput implements sdk.FeatureModel. BackwardInput waits for the gradient of the features.
func (m *dlrm) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.batch != nil {
		if err := checkInputGradient(inputGradient, m.batch.Size(), m.width); err != nil {
			return err
		}
	}
	if err := m.backward(outputGradient, m.inputGradient, emit); err != nil {
		return err
	}
	fetched, err := m.back.Fetch(m.inputGradient)
	copy(inputGradient, fetched)
	return err
}

// backward overwrites dx on the device. dx may be nil if the model has its own tables.
func (m *dlrm) backward(outputGradient tensor.Tensor, dx []float32, emit func(parameter int)) error {
	if err := m.beginBack("dlrm", m.batch != nil, outputGradient, m.output); err != nil {
		return err
	}
	s, q := &m.settings, m.lane.Queue
	m.top.backward(outputGradient.Data, m.combinedGradient, s.Top(), emit)
	q.InteractionGradient(m.denseGradient, m.rowsGoTo, m.combinedGradient, m.dense, m.rowsAt, len(s.TableRows),
		s.EmbeddingDim, m.stride)
	if m.tables == nil {
		m.bottom.backward(m.denseGradient, m.numbersGradient, 0, emit)
		q.CopyColumns(dx, m.stride, m.numbersGradient, s.DenseFeatures, m.batch.Size(), s.DenseFeatures)
		return m.end(device.Backward)
	}
	if err := m.tablesGradient(); err != nil {
		return err
	}
	emit(s.Embedding())
	m.bottom.backward(m.denseGradient, dx, 0, emit)
	return m.end(device.Backward)
}

func (m *dlrm) tablesGradient() error {
	rows, runs, err := m.bags.Sort(m.found, nil)
	if err != nil {
		return err
	}
	s, q, g := &m.settings, m.lane.Queue, m.gradients[m.settings.Embedding()]
	if !s.Sparse {
		q.Clear(g.Values)
		q.CoalesceRows(g.Values, m.lookedGradient, s.EmbeddingDim, runs, true)
		return nil
	}
	if err := g.SetRows(len(rows)); err != nil {
		return err
	}
	copy(g.Rows, rows)
	q.CoalesceRows(g.Values, m.lookedGradient, s.EmbeddingDim, runs, false)
	return nil
}
