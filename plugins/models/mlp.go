package models

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
)

// MLPSettings are the settings of the multilayer perceptron.
type MLPSettings struct {
	Sizes     []int  `json:"sizes" doc:"numbers of a sample, then outputs of each layer; the last are the classes"`
	ReLUAfter []int  `json:"relu_after" doc:"numbers of the layers, from 1, that a ReLU follows"`
	BLAS      string `json:"blas" doc:"what multiplies matrices: auto, openblas, mkl, blis or gonum"`
}

// DefaultMLP leaves the sizes to be given.
var DefaultMLP = MLPSettings{Sizes: []int{}, ReLUAfter: []int{}, BLAS: blas.Auto}

// check finds settings that are out of range or make a model that no machine holds.
func (s MLPSettings) check() error {
	if n := len(s.Sizes); n < 2 || n > maxLayers+1 {
		return fmt.Errorf("setting sizes has length %d but must have 2 to %d numbers: the inputs, then the outputs of each layer", n, maxLayers+1)
	}
	var parameters float64
	for i, size := range s.Sizes {
		if size < 1 || size > maxSize {
			return fmt.Errorf("setting sizes[%d] is %d but must be from 1 to %d", i, size, maxSize)
		}
		if i > 0 {
			parameters += float64(size) * float64(s.Sizes[i-1]+1)
		}
	}
	if parameters > maxElements {
		return fmt.Errorf("a model of %.3g parameters is too large: the limit is %.3g", parameters, float64(maxElements))
	}
	for i, layer := range s.ReLUAfter {
		if layer < 1 || layer >= len(s.Sizes) {
			return fmt.Errorf("setting relu_after[%d] is %d but layers are numbered from 1 to %d", i, layer, len(s.Sizes)-1)
		}
	}
	return nil
}

// mlp is linear layers y = x Wᵀ + b over the features of the samples, with a ReLU
// after some of them. Layer l has its weight in parameter 2l and its bias in 2l+1. A
// batch of n samples costs 2n multiplications and additions per weight forward and 4n
// backward, 2n of which are for the gradient of the layer's input; the lowest layer
// has those only in BackwardInput.
type mlp struct {
	sizes       []int
	firstTensor int
	engine      blas.BLAS
	layers      []nn.Linear
	relu        []bool // by layer: a ReLU follows
	gradients   []*comm.Gradient

	rows        int          // of the last Forward; 0 if there was none
	capacity    int          // rows that the buffers have room for
	activations [][]float32  // [l] is the input of layer l, the last one the output; [rows, sizes[l]] each
	deltas      [2][]float32 // gradients of two neighbouring activations
	output      comm.Tensor  // the view of the last activation that Forward returns
}

var _ sdk.FeatureModel = (*mlp)(nil)

// NewMLP builds the multilayer perceptron. Settings out of range and a BLAS engine
// that is not there are errors. Zero env.Threads count as one.
func NewMLP(s MLPSettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	engine, err := blas.Open(s.BLAS, max(1, env.Threads))
	if err != nil {
		return nil, fmt.Errorf("setting blas: %w", err)
	}
	return newMLP(s, env.FirstTensor, engine), nil
}

func newMLP(s MLPSettings, firstTensor int, engine blas.BLAS) *mlp {
	n := len(s.Sizes) - 1
	m := &mlp{
		sizes: slices.Clone(s.Sizes), firstTensor: firstTensor, engine: engine,
		layers: make([]nn.Linear, n), relu: make([]bool, n), activations: make([][]float32, n+1),
		output: comm.Tensor{Shape: []int{0, s.Sizes[n]}},
	}
	for l := range m.layers {
		m.layers[l] = nn.Linear{BLAS: engine, In: s.Sizes[l], Out: s.Sizes[l+1]}
		m.relu[l] = slices.Contains(s.ReLUAfter, l+1)
	}
	return m
}

func (m *mlp) Parameters() []sdk.ParameterSpec {
	var specs []sdk.ParameterSpec
	for l, layer := range m.layers {
		specs = append(specs,
			sdk.ParameterSpec{Name: fmt.Sprintf("weight_%d", l), Shape: []int{layer.Out, layer.In}},
			sdk.ParameterSpec{Name: fmt.Sprintf("bias_%d", l), Shape: []int{layer.Out}})
	}
	return specs
}

func (m *mlp) Inputs() sdk.InputSpec {
	return sdk.InputSpec{Features: m.sizes[0], Classes: m.sizes[len(m.layers)]}
}

func (m *mlp) Facts() map[string]string { return engineFacts(Layers, m.engine.Info()) }

func (m *mlp) Bind(values []comm.Tensor, gradients []*comm.Gradient) error {
	if err := checkBinding(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.gradients = gradients
	for l := range m.layers {
		m.layers[l].Weight, m.layers[l].Bias = values[2*l].Data, values[2*l+1].Data
	}
	return nil
}

// Initialize draws every parameter from the stream of its number among the run's
// tensors, in [-1, 1) / sqrt(inputs of its layer).
func (m *mlp) Initialize(seed uint64) {
	for l := range m.layers {
		layer, number := &m.layers[l], uint64(m.firstTensor+2*l) // #nosec G115 -- a tensor's number
		bound := float32(1 / math.Sqrt(float64(layer.In)))
		splitmix.Uniform(seed, number, layer.Weight, bound)
		splitmix.Uniform(seed, number+1, layer.Bias, bound)
	}
	m.rows = 0
}

// Forward reads b.Features in place, where they must stay until Backward.
func (m *mlp) Forward(b *sdk.Batch) (comm.Tensor, error) {
	m.rows = 0
	rows := b.Size()
	switch {
	case m.gradients == nil:
		return comm.Tensor{}, errors.New("the mlp model cannot compute before its parameters are bound")
	case rows < 1:
		return comm.Tensor{}, fmt.Errorf("a batch has %d samples but must have at least 1", rows)
	case len(b.Features) != rows*m.sizes[0]:
		return comm.Tensor{}, fmt.Errorf("a batch of %d samples has %d numbers but the model takes %d for each", rows, len(b.Features), m.sizes[0])
	}
	m.grow(rows)
	m.rows = rows
	m.activations[0] = b.Features
	for l := range m.layers {
		y := m.activation(l + 1)
		m.layers[l].Forward(y, m.activation(l))
		if m.relu[l] {
			nn.ReLU(y)
		}
	}
	m.output.Data = m.activation(len(m.layers))
	m.output.Shape[0] = rows
	return m.output, nil
}

// Backward implements sdk.Model.
func (m *mlp) Backward(outputGradient comm.Tensor, emit func(parameter int)) error {
	return m.backward(outputGradient, nil, emit)
}

// BackwardInput implements sdk.FeatureModel.
func (m *mlp) BackwardInput(outputGradient comm.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.rows > 0 && len(inputGradient) != m.rows*m.sizes[0] {
		return fmt.Errorf("there is room for %d numbers of the input's gradient but %d samples have %d each", len(inputGradient), m.rows, m.sizes[0])
	}
	return m.backward(outputGradient, inputGradient, emit)
}

// backward emits a layer's gradients before it computes what the layer below needs,
// so that their reduction runs meanwhile. inputGradient may be nil.
func (m *mlp) backward(outputGradient comm.Tensor, inputGradient []float32, emit func(parameter int)) error {
	if m.rows == 0 {
		return errors.New("the mlp model cannot go backward before it went forward")
	}
	if !slices.Equal(outputGradient.Shape, m.output.Shape) || len(outputGradient.Data) != len(m.output.Data) {
		return fmt.Errorf("the output's gradient has shape %v and %d elements but the output has shape %v",
			outputGradient.Shape, len(outputGradient.Data), m.output.Shape)
	}
	above, below := m.deltas[0], m.deltas[1]
	dy := above[:len(outputGradient.Data)]
	copy(dy, outputGradient.Data)
	for l := len(m.layers) - 1; l >= 0; l-- {
		layer := &m.layers[l]
		if m.relu[l] {
			nn.ReLUGradient(dy, m.activation(l+1))
		}
		layer.BiasGradient(m.gradients[2*l+1].Values, dy)
		emit(2*l + 1)
		layer.WeightGradient(m.gradients[2*l].Values, dy, m.activation(l))
		emit(2 * l)
		if l > 0 {
			dx := below[:m.rows*layer.In]
			layer.InputGradient(dx, dy)
			dy, above, below = dx, below, above
		} else if inputGradient != nil {
			layer.InputGradient(inputGradient, dy)
		}
	}
	return nil
}

// grow makes room for a batch of rows samples.
func (m *mlp) grow(rows int) {
	if rows <= m.capacity {
		return
	}
	m.capacity = rows
	outputs := m.sizes[1:]
	for l, width := range outputs {
		m.activations[l+1] = make([]float32, rows*width)
	}
	for i := range m.deltas {
		m.deltas[i] = make([]float32, rows*slices.Max(outputs))
	}
}

// activation is the part of activations[l] that the current batch fills.
func (m *mlp) activation(l int) []float32 { return m.activations[l][:m.rows*m.sizes[l]] }
