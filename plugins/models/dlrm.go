package models

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// dlrm is the deep learning recommendation model of Naumov et al. 2019. Bottom layers turn a sample's numbers into
// a vector, and each category selects a row of its embedding table. The model computes the dot products of every
// two of these vectors. The top layers take the dot products and the bottom layers' output. The output is one
// column, the logit of class 1.
//
// The parameters are the bottom layers, the tables as one stack "embedding" (see nn.Tables), and the top layers, in
// this order. The stack's gradient takes longest to reduce; this order emits it before the backward pass of the
// bottom layers. If trainers look up the rows on servers, the rows are the last of the features, and the model has
// no embedding.
type dlrm struct {
	settings    DLRMSettings
	firstTensor int
	memory      engine.Engine
	engine      blas.BLAS
	bottom, top *stack
	tables      *nn.Tables // nil if servers hold the tables
	interaction nn.Interaction

	values    []tensor.Tensor
	gradients []*tensor.Gradient
	batch     *sdk.Batch // batch of the last Forward; nil before the first Forward
	output    tensor.Tensor

	dense []float32 // output of the bottom layers, [samples, dim]

	// Memory for the samples of a batch. The memory grows to the largest batch.
	numbers, numbersGradient   []float32 // input of the bottom layers, if the features also contain rows
	looked, lookedGradient     []float32 // rows of the model's own tables, [samples, tables, dim]
	combined, combinedGradient []float32 // input of the top layers, [samples, width]
	denseGradient              []float32
}

var _ sdk.FeatureModel = (*dlrm)(nil)

// NewDLRM builds the model. NewDLRM returns an error if settings are out of range or do not fit together, or if the
// BLAS engine is missing. env.Threads of 0 counts as 1.
func NewDLRM(s DLRMSettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(env.MaxBatch); err != nil {
		return nil, err
	}
	if err := engine.NeedAddressable(env.Engine); err != nil {
		return nil, err
	}
	products, err := blas.Open(s.BLAS, max(1, env.Threads))
	if err != nil {
		return nil, fmt.Errorf("setting blas: %w", err)
	}
	always := func(int) bool { return true }
	inner := func(layer int) bool { return layer < len(s.TopLayers)-1 }
	m := &dlrm{
		settings: s, firstTensor: env.FirstTensor, memory: env.Engine, engine: products,
		bottom:      newStack(env.Engine, s.BottomSizes(), always, products),
		top:         newStack(env.Engine, s.TopSizes(), inner, products),
		interaction: nn.Interaction{BLAS: products, Tables: len(s.TableRows), Dim: s.EmbeddingDim},
		output:      tensor.Tensor{Shape: []int{0, 1}},
	}
	if s.Tables == TablesInModel {
		m.tables = nn.NewTables(s.TableRows, s.EmbeddingDim)
	}
	return m, nil
}

func (m *dlrm) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *dlrm) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

func (m *dlrm) Facts() map[string]string { return engineFacts(Layers, m.engine.Info()) }

func (m *dlrm) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := CheckBinding(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.values, m.gradients = values, gradients
	if m.tables != nil {
		m.tables.Stack = values[m.settings.Embedding()].Data
	}
	bottom, top := m.settings.Embedding(), m.settings.Top()
	m.bottom.bind(values[:bottom], gradients[:bottom])
	m.top.bind(values[top:], gradients[top:])
	return nil
}

// Initialize draws the initial values of every parameter.
func (m *dlrm) Initialize(seed uint64) {
	for k, value := range m.values {
		m.settings.Draw(seed, m.firstTensor, k, value.Data)
	}
	m.batch = nil
}

// Forward reads b.Features in place. The features must not change until Backward.
func (m *dlrm) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = nil
	n, features := b.Size(), m.features()
	switch {
	case m.values == nil:
		return tensor.Tensor{}, errors.New("the dlrm model cannot compute before its parameters are bound")
	case n < 1:
		return tensor.Tensor{}, fmt.Errorf("a batch has %d samples but must have at least 1", n)
	case len(b.Features) != n*features:
		return tensor.Tensor{}, fmt.Errorf("a batch of %d samples has %d numbers but the model takes %d for each", n,
			len(b.Features), features)
	}
	if err := m.resize(n); err != nil {
		return tensor.Tensor{}, err
	}
	numbers := b.Features
	if m.tables == nil {
		numbers = m.numbers
		for i := range n {
			copy(numbers[i*m.settings.DenseFeatures:(i+1)*m.settings.DenseFeatures], b.Features[i*features:])
		}
	} else if err := m.tables.Forward(m.looked, b); err != nil {
		return tensor.Tensor{}, err
	}
	var err error
	if m.dense, err = m.bottom.forward(numbers); err != nil {
		return tensor.Tensor{}, err
	}
	rows, stride := m.rows(b.Features, m.looked)
	m.interaction.Forward(m.combined, m.dense, rows, stride)
	if m.output.Data, err = m.top.forward(m.combined); err != nil {
		return tensor.Tensor{}, err
	}
	m.output.Shape[0], m.batch = n, b
	return m.output, nil
}

// resize allocates memory for n samples.
func (m *dlrm) resize(n int) error {
	s := &m.settings
	var err error
	resize := func(x *[]float32, n int) {
		if err == nil {
			*x, err = engine.Grow(m.memory, *x, n)
		}
	}
	if m.tables == nil {
		resize(&m.numbers, n*s.DenseFeatures)
		resize(&m.numbersGradient, n*s.DenseFeatures)
	} else {
		resize(&m.looked, n*s.LookedUp())
		resize(&m.lookedGradient, n*s.LookedUp())
	}
	resize(&m.denseGradient, n*s.EmbeddingDim)
	resize(&m.combined, n*m.interaction.Width())
	resize(&m.combinedGradient, n*m.interaction.Width())
	return err
}

// rows returns the memory in which the rows of the tables begin, and the distance between two samples' rows. This
// memory is part of the features or belongs to the model.
func (m *dlrm) rows(features, own []float32) (rows []float32, stride int) {
	if m.tables == nil {
		return features[m.settings.DenseFeatures:], m.features()
	}
	return own, m.settings.LookedUp()
}

// features returns how many numbers Forward takes for each sample.
func (m *dlrm) features() int {
	if m.tables == nil {
		return m.settings.DenseFeatures + m.settings.LookedUp()
	}
	return m.settings.DenseFeatures
}

// Backward implements sdk.Model.
func (m *dlrm) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	if m.tables == nil {
		return errors.New("the dlrm model's rows are looked up, so it must be asked for the gradient of its features")
	}
	return m.backward(outputGradient, nil, emit)
}

// BackwardInput implements sdk.FeatureModel.
func (m *dlrm) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.batch != nil && len(inputGradient) != len(m.batch.Features) {
		return fmt.Errorf("the input's gradient has room for %d values, but the %d samples need %d",
			len(inputGradient), m.batch.Size(), len(m.batch.Features))
	}
	return m.backward(outputGradient, inputGradient, emit)
}

// backward overwrites inputGradient, which may be nil if the model has its own tables.
func (m *dlrm) backward(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.batch == nil {
		return errors.New("the dlrm model cannot go backward before it went forward")
	}
	if err := CheckOutputGradient(outputGradient, m.output); err != nil {
		return err
	}
	m.top.backward(outputGradient.Data, m.combinedGradient, m.settings.Top(), emit)
	rows, stride := m.rows(m.batch.Features, m.looked)
	rowsGradient, _ := m.rows(inputGradient, m.lookedGradient)
	m.interaction.Gradient(m.denseGradient, rowsGradient, m.combinedGradient, m.dense, rows, stride)
	if m.tables == nil {
		m.bottom.backward(m.denseGradient, m.numbersGradient, 0, emit)
		for i := range m.batch.Size() {
			copy(inputGradient[i*m.features():],
				m.numbersGradient[i*m.settings.DenseFeatures:(i+1)*m.settings.DenseFeatures])
		}
		return nil
	}
	if err := m.tablesGradient(); err != nil {
		return err
	}
	emit(m.settings.Embedding())
	m.bottom.backward(m.denseGradient, inputGradient, 0, emit)
	return nil
}

func (m *dlrm) tablesGradient() error {
	if m.settings.Sparse {
		return m.tables.SparseGradient(m.gradients[m.settings.Embedding()], m.lookedGradient)
	}
	m.tables.DenseGradient(m.gradients[m.settings.Embedding()].Values, m.lookedGradient)
	return nil
}
