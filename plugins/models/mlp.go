package models

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// MLPSettings are the settings of the multilayer perceptron.
type MLPSettings struct {
	Sizes     []int  `json:"sizes" doc:"numbers of a sample, then outputs of each layer; the last are the classes"`
	ReLUAfter []int  `json:"relu_after" doc:"numbers of the layers, from 1, that a ReLU follows"`
	Output    string `json:"output" doc:"linear (what the last layer gives) or log_softmax (log-probabilities, for criterion nll)"`
	BLAS      string `json:"blas" doc:"what multiplies matrices: auto, openblas, mkl, blis, native or gonum"`
}

// Outputs of the multilayer perceptron.
const (
	Linear     = "linear"
	LogSoftmax = "log_softmax"
)

// DefaultMLP has no sizes: the user must give them.
var DefaultMLP = MLPSettings{Sizes: []int{}, ReLUAfter: []int{}, Output: Linear, BLAS: blas.Auto}

// Check returns an error for settings that are out of range or make a model too large for any machine.
func (s MLPSettings) Check() error {
	if n := len(s.Sizes); n < 2 || n > maxLayers+1 {
		return fmt.Errorf(
			"setting sizes has length %d but must have 2 to %d numbers: the inputs, then the outputs of each layer", n,
			maxLayers+1)
	}
	parameters, err := checkSizes("sizes", s.Sizes)
	if err != nil {
		return err
	}
	if parameters > maxElements {
		return fmt.Errorf("a model of %.3g parameters is too large: the limit is %.3g", parameters,
			float64(maxElements))
	}
	for i, layer := range s.ReLUAfter {
		if layer < 1 || layer >= len(s.Sizes) {
			return fmt.Errorf("setting relu_after[%d] is %d but layers are numbered from 1 to %d", i, layer,
				len(s.Sizes)-1)
		}
	}
	if s.Output != Linear && s.Output != LogSoftmax {
		return fmt.Errorf("setting output is %s but must be %s or %s", quote.String(s.Output), Linear, LogSoftmax)
	}
	return nil
}

// ReLU reports whether a ReLU follows a layer. Layers count from 0.
func (s MLPSettings) ReLU(layer int) bool { return slices.Contains(s.ReLUAfter, layer+1) }

// Parameters lists the model's parameters: layer l has its weight at 2l and its bias at 2l+1.
func (s MLPSettings) Parameters() []sdk.ParameterSpec { return layerSpecs("", s.Sizes) }

// Inputs describes the input that the model accepts. A single output is the logit of the second of two classes.
func (s MLPSettings) Inputs() sdk.InputSpec {
	return sdk.InputSpec{Features: s.Sizes[0], Classes: max(2, s.Sizes[len(s.Sizes)-1]),
		Outputs: s.Sizes[len(s.Sizes)-1]}
}

// Draw writes the initial values of a parameter. The values are in [-1, 1) / sqrt(inputs of its layer) and come
// from stream firstTensor+parameter.
func (s MLPSettings) Draw(seed uint64, firstTensor, parameter int, values []float32) {
	drawLayers(seed, firstTensor, s.Sizes, parameter, values)
}

// mlp is a stack over the features of the samples. Layer l has its weight in parameter
// 2l and its bias in 2l+1.
type mlp struct {
	settings    MLPSettings
	stack       *stack
	values      []tensor.Tensor
	logSoftmax  bool
	firstTensor int
	memory      engine.Engine
	engine      blas.BLAS

	rows   int           // rows of the last Forward; 0 before the first Forward
	output tensor.Tensor // output of the last Forward
	delta  []float32     // gradient of the stack's output, if that is not the model's output
}

var _ sdk.FeatureModel = (*mlp)(nil)

// NewMLP builds the multilayer perceptron. NewMLP returns an error if settings are out of range or the BLAS engine
// is missing. env.Threads of 0 counts as 1.
func NewMLP(s MLPSettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := engine.NeedAddressable(env.Engine); err != nil {
		return nil, err
	}
	products, err := blas.Open(s.BLAS, max(1, env.Threads))
	if err != nil {
		return nil, fmt.Errorf("setting blas: %w", err)
	}
	return &mlp{
		settings: s, stack: newStack(env.Engine, s.Sizes, s.ReLU, products), logSoftmax: s.Output == LogSoftmax,
		firstTensor: env.FirstTensor, memory: env.Engine, engine: products,
		output: tensor.Tensor{Shape: []int{0, s.Sizes[len(s.Sizes)-1]}},
	}, nil
}

func (m *mlp) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *mlp) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

func (m *mlp) Facts() map[string]string { return engineFacts(Layers, m.engine.Info()) }

func (m *mlp) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := CheckBinding(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.values = values
	m.stack.bind(values, gradients)
	return nil
}

// Initialize draws the initial values of every parameter.
func (m *mlp) Initialize(seed uint64) {
	for k, values := range m.values {
		m.settings.Draw(seed, m.firstTensor, k, values.Data)
	}
	m.rows = 0
}

// Forward reads b.Features in place. The features must not change until Backward.
func (m *mlp) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.rows = 0
	rows := b.Size()
	switch {
	case m.stack.gradients == nil:
		return tensor.Tensor{}, errors.New("the mlp model cannot compute before its parameters are bound")
	case rows < 1:
		return tensor.Tensor{}, fmt.Errorf("a batch has %d samples but must have at least 1", rows)
	case len(b.Features) != rows*m.stack.sizes[0]:
		return tensor.Tensor{}, fmt.Errorf("a batch of %d samples has %d numbers but the model takes %d for each", rows,
			len(b.Features), m.stack.sizes[0])
	}
	output, err := m.stack.forward(b.Features)
	if err != nil {
		return tensor.Tensor{}, err
	}
	m.rows = rows
	m.output.Data, m.output.Shape[0] = output, rows
	if m.logSoftmax {
		nn.LogSoftmax(m.output.Data, m.output.Shape[1])
	}
	return m.output, nil
}

// Backward implements sdk.Model.
func (m *mlp) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	return m.backward(outputGradient, nil, emit)
}

// BackwardInput implements sdk.FeatureModel.
func (m *mlp) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.rows > 0 && len(inputGradient) != m.rows*m.stack.sizes[0] {
		return fmt.Errorf("the input's gradient has room for %d values, but %d samples need %d each",
			len(inputGradient), m.rows, m.stack.sizes[0])
	}
	return m.backward(outputGradient, inputGradient, emit)
}

// backward overwrites inputGradient, unless inputGradient is nil.
func (m *mlp) backward(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.rows == 0 {
		return errors.New("the mlp model cannot go backward before it went forward")
	}
	if err := CheckOutputGradient(outputGradient, m.output); err != nil {
		return err
	}
	dy := outputGradient.Data
	if m.logSoftmax {
		var err error
		if m.delta, err = engine.Grow(m.memory, m.delta, len(dy)); err != nil {
			return err
		}
		nn.LogSoftmaxGradient(m.delta, dy, m.output.Data, m.output.Shape[1])
		dy = m.delta
	}
	m.stack.backward(dy, inputGradient, 0, emit)
	return nil
}
