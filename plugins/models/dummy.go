package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/plugins/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
)

// DummySettings are the settings of the dummy model.
type DummySettings struct {
	NumEmbeddings    int    `json:"num_embeddings" doc:"rows of the embedding table"`
	EmbeddingDim     int    `json:"embedding_dim" doc:"columns of the embedding table; equals dense_input_size"`
	DenseInputSize   int    `json:"dense_input_size" doc:"inputs of every dense layer"`
	DenseOutputSize  int    `json:"dense_output_size" doc:"outputs of every dense layer, and classes; equals dense_input_size if there are several layers"`
	DenseLayersCount int    `json:"dense_layers_count" doc:"dense layers"`
	Sparse           bool   `json:"sparse" doc:"give the embedding's gradient as rows"`
	BLAS             string `json:"blas" doc:"what multiplies matrices: auto, openblas, mkl, blis or gonum"`
}

// DefaultDummy are the settings of the original's DummyModel.
var DefaultDummy = DummySettings{
	NumEmbeddings:    1024,
	EmbeddingDim:     1024,
	DenseInputSize:   1024,
	DenseOutputSize:  1024,
	DenseLayersCount: 8,
	BLAS:             blas.Auto,
}

// Limits that keep every count within the types that carry it (a row travels as
// an int32) and the whole model within 1 TiB.
const (
	maxSize     = math.MaxInt32
	maxLayers   = 10_000
	maxElements = 1 << 38
)

// check finds settings that are out of range, do not fit together, or make a
// model that no machine holds.
func (s DummySettings) check(maxBatch int) error {
	for _, size := range []struct {
		name         string
		value, limit int
	}{
		{"num_embeddings", s.NumEmbeddings, maxSize},
		{"embedding_dim", s.EmbeddingDim, maxSize},
		{"dense_input_size", s.DenseInputSize, maxSize},
		{"dense_output_size", s.DenseOutputSize, maxSize},
		{"dense_layers_count", s.DenseLayersCount, maxLayers},
	} {
		if size.value < 1 || size.value > size.limit {
			return fmt.Errorf("setting %s is %d but must be from 1 to %d", size.name, size.value, size.limit)
		}
	}
	if s.EmbeddingDim != s.DenseInputSize {
		return fmt.Errorf("layer sizes do not fit: embedding_dim is %d and dense_input_size is %d but they must be equal",
			s.EmbeddingDim, s.DenseInputSize)
	}
	if s.DenseLayersCount > 1 && s.DenseInputSize != s.DenseOutputSize {
		return fmt.Errorf("layer sizes do not fit: dense_input_size is %d and dense_output_size is %d but %d layers need them equal",
			s.DenseInputSize, s.DenseOutputSize, s.DenseLayersCount)
	}
	table := float64(s.NumEmbeddings) * float64(s.EmbeddingDim)
	dense := float64(s.DenseLayersCount) * float64(s.DenseOutputSize) * float64(s.DenseInputSize+1)
	if parameters := table + dense; parameters > maxElements {
		return fmt.Errorf("a model of %.3g parameters is too large: the limit is %.3g", parameters, float64(maxElements))
	}
	width := max(s.DenseInputSize, s.DenseOutputSize)
	if activations := float64(maxBatch) * float64(width) * float64(s.DenseLayersCount+3); activations > maxElements {
		return fmt.Errorf("a largest batch of %d samples makes %.3g activations, which is too many: the limit is %.3g",
			maxBatch, activations, float64(maxElements))
	}
	return nil
}

// dummy is an embedding bag (mean), dense layers y = x Wᵀ + b, and a softmax
// over classes. Parameter 0 is the embedding; dense layer l has its weight at
// 1+2l and its bias at 2+2l.
type dummy struct {
	settings DummySettings
	maxBatch int
	engine   blas.BLAS

	embedding nn.EmbeddingBag
	layers    []nn.Linear
	gradients []*comm.Gradient

	batch       *sdk.Batch   // of the last Forward, until Backward
	activations [][]float32  // [l] is the input of layer l, the last one the output; [maxBatch, width] each
	deltas      [2][]float32 // gradients of two neighbouring activations
	output      comm.Tensor  // the view of the last activation that Forward returns
}

// NewDummy builds the dummy model. Sizes that do not fit together and a BLAS
// engine that is not there are errors. Zero env.Threads count as one.
func NewDummy(s DummySettings, env sdk.ModelEnv) (sdk.Model, error) {
	if env.MaxBatch < 1 {
		return nil, fmt.Errorf("the largest batch has %d samples but must have at least 1", env.MaxBatch)
	}
	if err := s.check(env.MaxBatch); err != nil {
		return nil, err
	}
	engine, err := blas.Open(s.BLAS, max(1, env.Threads))
	if err != nil {
		return nil, fmt.Errorf("setting blas: %w", err)
	}
	return newDummy(s, env.MaxBatch, engine), nil
}

func newDummy(s DummySettings, maxBatch int, engine blas.BLAS) *dummy {
	m := &dummy{
		settings:  s,
		maxBatch:  maxBatch,
		engine:    engine,
		embedding: nn.EmbeddingBag{Rows: s.NumEmbeddings, Width: s.EmbeddingDim},
		layers:    make([]nn.Linear, s.DenseLayersCount),
		output:    comm.Tensor{Shape: []int{0, s.DenseOutputSize}},
	}
	m.activations = append(m.activations, make([]float32, maxBatch*s.EmbeddingDim))
	for l := range m.layers {
		m.layers[l] = nn.Linear{BLAS: engine, In: s.DenseInputSize, Out: s.DenseOutputSize}
		m.activations = append(m.activations, make([]float32, maxBatch*s.DenseOutputSize))
	}
	for i := range m.deltas {
		m.deltas[i] = make([]float32, maxBatch*max(s.DenseInputSize, s.DenseOutputSize))
	}
	return m
}

func weightOf(layer int) int { return 1 + 2*layer }
func biasOf(layer int) int   { return 2 + 2*layer }

func (m *dummy) Parameters() []sdk.ParameterSpec {
	s := m.settings
	specs := []sdk.ParameterSpec{
		{Name: "embedding", Shape: []int{s.NumEmbeddings, s.EmbeddingDim}, Sparse: s.Sparse},
	}
	for l := range m.layers {
		specs = append(specs,
			sdk.ParameterSpec{Name: fmt.Sprintf("weight_%d", l), Shape: []int{s.DenseOutputSize, s.DenseInputSize}},
			sdk.ParameterSpec{Name: fmt.Sprintf("bias_%d", l), Shape: []int{s.DenseOutputSize}})
	}
	return specs
}

func (m *dummy) Inputs() sdk.InputSpec {
	return sdk.InputSpec{Rows: m.settings.NumEmbeddings, Classes: m.settings.DenseOutputSize}
}

func (m *dummy) Facts() map[string]string {
	info := m.engine.Info()
	facts := map[string]string{
		"blas":         info.Engine,
		"blas_core":    info.Core,
		"blas_threads": strconv.Itoa(info.Threads),
	}
	if info.Library != "" {
		facts["blas_library"] = info.Library
	}
	return facts
}

func (m *dummy) Bind(values []comm.Tensor, gradients []*comm.Gradient) error {
	if err := checkBinding(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.gradients = gradients
	m.embedding.Table = values[0].Data
	for l := range m.layers {
		m.layers[l].Weight = values[weightOf(l)].Data
		m.layers[l].Bias = values[biasOf(l)].Data
	}
	return nil
}

// Initialize draws every parameter from the stream of its number: the embedding
// uniform in [-1, 1), the layers in [-1, 1) / sqrt(dense_input_size).
func (m *dummy) Initialize(seed uint64) {
	splitmix.Uniform(seed, 0, m.embedding.Table, 1)
	bound := float32(1 / math.Sqrt(float64(m.settings.DenseInputSize)))
	for l := range m.layers {
		splitmix.Uniform(seed, uint64(weightOf(l)), m.layers[l].Weight, bound) // #nosec G115 -- a parameter's number
		splitmix.Uniform(seed, uint64(biasOf(l)), m.layers[l].Bias, bound)     // #nosec G115 -- a parameter's number
	}
	m.batch = nil
}

func (m *dummy) Forward(b *sdk.Batch) (comm.Tensor, error) {
	if m.gradients == nil {
		return comm.Tensor{}, errors.New("the dummy model cannot compute before its parameters are bound")
	}
	if b.Size() < 1 || b.Size() > m.maxBatch {
		return comm.Tensor{}, fmt.Errorf("a batch has %d samples but the model was built for 1 to %d", b.Size(), m.maxBatch)
	}
	m.batch = b
	if err := m.embedding.Forward(m.activation(0), b); err != nil {
		m.batch = nil
		return comm.Tensor{}, err
	}
	for l := range m.layers {
		m.layers[l].Forward(m.activation(l+1), m.activation(l))
	}
	m.output.Data = m.activation(len(m.layers))
	m.output.Shape[0] = b.Size()
	nn.Softmax(m.output.Data, m.settings.DenseOutputSize)
	return m.output, nil
}

// Backward emits a layer's gradients before it computes what the layer below
// needs, so that their reduction runs meanwhile.
func (m *dummy) Backward(outputGradient comm.Tensor, emit func(parameter int)) error {
	if m.batch == nil {
		return errors.New("the dummy model cannot go backward before it went forward")
	}
	if !slices.Equal(outputGradient.Shape, m.output.Shape) || len(outputGradient.Data) != len(m.output.Data) {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output has shape %v",
			outputGradient.Shape, len(outputGradient.Data), m.output.Shape)
	}
	rows := m.batch.Size()
	above, below := m.deltas[0], m.deltas[1]
	dy := above[:rows*m.settings.DenseOutputSize]
	nn.SoftmaxGradient(dy, outputGradient.Data, m.output.Data, m.settings.DenseOutputSize)
	for l := len(m.layers) - 1; l >= 0; l-- {
		layer := &m.layers[l]
		layer.BiasGradient(m.gradients[biasOf(l)].Values, dy)
		emit(biasOf(l))
		layer.WeightGradient(m.gradients[weightOf(l)].Values, dy, m.activation(l))
		emit(weightOf(l))
		dx := below[:rows*layer.In]
		layer.InputGradient(dx, dy)
		dy, above, below = dx, below, above
	}
	if err := m.embeddingGradient(dy); err != nil {
		return err
	}
	emit(0)
	return nil
}

func (m *dummy) embeddingGradient(dy []float32) error {
	if m.settings.Sparse {
		return m.embedding.SparseGradient(m.gradients[0], dy, m.batch)
	}
	m.embedding.DenseGradient(m.gradients[0].Values, dy, m.batch)
	return nil
}

// activation is the part of activations[l] that the current batch fills.
func (m *dummy) activation(l int) []float32 {
	width := m.settings.DenseInputSize
	if l == len(m.layers) {
		width = m.settings.DenseOutputSize
	}
	return m.activations[l][:m.batch.Size()*width]
}
