package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// DummySettings are the settings of the dummy model.
type DummySettings struct {
	NumEmbeddings    int    `json:"num_embeddings" doc:"rows of the embedding table"`
	EmbeddingDim     int    `json:"embedding_dim" doc:"columns of the embedding table; equals dense_input_size"`
	DenseInputSize   int    `json:"dense_input_size" doc:"inputs of every dense layer"`
	DenseOutputSize  int    `json:"dense_output_size" doc:"outputs of every dense layer, and classes; equals dense_input_size if there are several layers"`
	DenseLayersCount int    `json:"dense_layers_count" doc:"dense layers"`
	Sparse           bool   `json:"sparse" doc:"give the embedding's gradient as rows"`
	Engine           string `json:"engine" doc:"what computes: layers (written by hand) or gorgonia (a graph)"`
	BLAS             string `json:"blas" doc:"what multiplies matrices: auto, openblas, mkl, blis, native or gonum"`
}

// Engines of the dummy model.
const (
	Layers   = "layers"
	Gorgonia = "gorgonia"
)

// DefaultDummy are the default settings, taken from the original's DummyModel.
var DefaultDummy = DummySettings{
	NumEmbeddings:    1024,
	EmbeddingDim:     1024,
	DenseInputSize:   1024,
	DenseOutputSize:  1024,
	DenseLayersCount: 8,
	Engine:           Layers,
	BLAS:             blas.Auto,
}

// These limits keep every count within its type (a row is sent as an int32) and the whole model within 1 TiB.
const (
	maxSize     = math.MaxInt32
	maxLayers   = 10_000
	maxElements = 1 << 38
)

// Check returns an error for settings that are out of range, do not fit together, or make a model too large for any
// machine. Check assumes batches of up to maxBatch samples.
func (s DummySettings) Check(maxBatch int) error {
	if maxBatch < 1 {
		return fmt.Errorf("the largest batch has %d samples but must have at least 1", maxBatch)
	}
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
		return fmt.Errorf(
			"layer sizes do not fit: embedding_dim is %d and dense_input_size is %d but they must be equal",
			s.EmbeddingDim, s.DenseInputSize)
	}
	if s.DenseLayersCount > 1 && s.DenseInputSize != s.DenseOutputSize {
		return fmt.Errorf(
			"layer sizes do not fit: dense_input_size is %d and dense_output_size is %d but %d layers need them equal",
			s.DenseInputSize, s.DenseOutputSize, s.DenseLayersCount)
	}
	table := float64(s.NumEmbeddings) * float64(s.EmbeddingDim)
	dense := float64(s.DenseLayersCount) * float64(s.DenseOutputSize) * float64(s.DenseInputSize+1)
	if parameters := table + dense; parameters > maxElements {
		return fmt.Errorf("a model of %.3g parameters is too large: the limit is %.3g", parameters,
			float64(maxElements))
	}
	width := max(s.DenseInputSize, s.DenseOutputSize)
	if activations := float64(maxBatch) * float64(width) * float64(s.DenseLayersCount+3); activations > maxElements {
		return fmt.Errorf("a largest batch of %d samples makes %.3g activations, which is too many: the limit is %.3g",
			maxBatch, activations, float64(maxElements))
	}
	return nil
}

// dummy is an embedding bag (mean), followed by dense layers y = x Wᵀ + b and a softmax over classes. Parameter 0
// is the embedding; dense layer l has its weight at 1+2l and its bias at 2+2l.
type dummy struct {
	settings DummySettings
	maxBatch int
	engine   blas.BLAS
	network  network

	values []tensor.Tensor
	batch  *sdk.Batch    // batch of the last Forward, until Backward
	output tensor.Tensor // output of the last Forward
}

// network computes the dummy model. The callers have already checked all arguments except a batch's indices.
type network interface {
	// bind gives the network the storage of all parameters.
	bind(values []tensor.Tensor, gradients []*tensor.Gradient)
	// forward returns the output [b.Size(), classes], valid until the next forward.
	forward(b *sdk.Batch) ([]float32, error)
	// backward does the backward pass of sdk.Model for the batch of the last forward.
	backward(b *sdk.Batch, outputGradient []float32, emit func(parameter int)) error
}

// NewDummy builds the dummy model. NewDummy returns an error if sizes do not fit together, the engine is unknown,
// or the BLAS engine is missing. env.Threads of 0 counts as 1. With the engine gorgonia, all gorgonia graphs of the
// process use the same BLAS engine from then on.
func NewDummy(s DummySettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(env.MaxBatch); err != nil {
		return nil, err
	}
	if err := engine.NeedAddressable(env.Engine); err != nil {
		return nil, err
	}
	if s.Engine != Layers && s.Engine != Gorgonia {
		return nil, fmt.Errorf("setting engine is %s but must be %s or %s", quote.String(s.Engine), Layers, Gorgonia)
	}
	products, err := blas.Open(s.BLAS, max(1, env.Threads))
	if err != nil {
		return nil, fmt.Errorf("setting blas: %w", err)
	}
	return newDummy(s, env, products)
}

func newDummy(s DummySettings, env sdk.ModelEnv, products blas.BLAS) (*dummy, error) {
	m := &dummy{
		settings: s,
		maxBatch: env.MaxBatch,
		engine:   products,
		output:   tensor.Tensor{Shape: []int{0, s.DenseOutputSize}},
	}
	if s.Engine == Gorgonia {
		m.network = newDummyGraph(s, env.Engine, products)
		return m, nil
	}
	var err error
	m.network, err = newDummyLayers(s, env, products)
	return m, err
}

func weightOf(layer int) int { return 1 + 2*layer }
func biasOf(layer int) int   { return 2 + 2*layer }

// Parameters lists the model's parameters: the embedding is number 0; dense layer l has its weight
// at 1+2l and its bias at 2+2l.
func (s DummySettings) Parameters() []sdk.ParameterSpec {
	specs := []sdk.ParameterSpec{
		{Name: "embedding", Shape: []int{s.NumEmbeddings, s.EmbeddingDim}, Sparse: s.Sparse},
	}
	for l := range s.DenseLayersCount {
		specs = append(specs,
			sdk.ParameterSpec{Name: fmt.Sprintf("weight_%d", l), Shape: []int{s.DenseOutputSize, s.DenseInputSize}},
			sdk.ParameterSpec{Name: fmt.Sprintf("bias_%d", l), Shape: []int{s.DenseOutputSize}})
	}
	return specs
}

// Inputs describes the input that the model accepts.
func (s DummySettings) Inputs() sdk.InputSpec {
	return sdk.InputSpec{Rows: s.NumEmbeddings, Classes: s.DenseOutputSize, Outputs: s.DenseOutputSize}
}

// Draw writes the initial values of a parameter, from the stream with the parameter's number. The embedding is
// uniform in [-1, 1), the layers in [-1, 1) / sqrt(dense_input_size).
func (s DummySettings) Draw(seed uint64, parameter int, values []float32) {
	bound := float32(1)
	if parameter > 0 {
		bound = float32(1 / math.Sqrt(float64(s.DenseInputSize)))
	}
	splitmix.Uniform(seed, uint64(parameter), values, bound) // #nosec G115 -- a parameter's number
}

func (m *dummy) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *dummy) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

func (m *dummy) Facts() map[string]string {
	return engineFacts(m.settings.Engine, m.engine.Info())
}

func (m *dummy) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := CheckBinding(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.values = values
	m.network.bind(values, gradients)
	return nil
}

// Initialize draws the initial values of every parameter.
func (m *dummy) Initialize(seed uint64) {
	for k, value := range m.values {
		m.settings.Draw(seed, k, value.Data)
	}
	m.batch = nil
}

func (m *dummy) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	if m.values == nil {
		return tensor.Tensor{}, errors.New("the dummy model cannot compute before its parameters are bound")
	}
	if b.Size() < 1 {
		return tensor.Tensor{}, errors.New("a batch has no samples but must have at least 1")
	}
	m.batch = nil
	output, err := m.network.forward(b)
	if err != nil {
		return tensor.Tensor{}, err
	}
	m.batch = b
	m.output.Data, m.output.Shape[0] = output, b.Size()
	return m.output, nil
}

func (m *dummy) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	if m.batch == nil {
		return errors.New("the dummy model cannot go backward before it went forward")
	}
	if err := CheckOutputGradient(outputGradient, m.output); err != nil {
		return err
	}
	return m.network.backward(m.batch, outputGradient.Data, emit)
}
