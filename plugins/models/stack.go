package models

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// stack is a sequence of linear layers y = x Wᵀ + b, with a ReLU after some of them. Layer l has its weight in
// tensor 2l and its bias in tensor 2l+1. A batch of n samples costs 2n multiplications and additions per weight
// forward and 4n backward. Half of the backward cost is for the gradient of the layer's input; the lowest layer
// computes this gradient only on request.
type stack struct {
	memory    engine.Engine
	sizes     []int // input size, then the output size of each layer
	layers    []nn.Linear
	relu      []bool // by layer: whether a ReLU follows
	gradients []*tensor.Gradient

	rows        int          // rows of the last forward
	capacity    int          // rows that fit into the buffers
	activations [][]float32  // [l] is the input of layer l, the last element is the output; [rows, sizes[l]] each
	deltas      [2][]float32 // gradients of two neighbouring activations
}

// newStack builds layers of these sizes. There must be at least 2 sizes.
func newStack(memory engine.Engine, sizes []int, relu func(layer int) bool, products blas.BLAS) *stack {
	n := len(sizes) - 1
	s := &stack{
		memory: memory, sizes: slices.Clone(sizes), layers: make([]nn.Linear, n), relu: make([]bool, n),
		activations: make([][]float32, n+1),
	}
	for l := range s.layers {
		s.layers[l] = nn.Linear{BLAS: products, In: sizes[l], Out: sizes[l+1]}
		s.relu[l] = relu(l)
	}
	return s
}

// checkSizes returns an error if a layer's size is out of range, and counts the parameters. name is the setting
// that holds the sizes.
func checkSizes(name string, sizes []int) (parameters float64, err error) {
	for i, size := range sizes {
		if size < 1 || size > maxSize {
			return 0, fmt.Errorf("setting %s[%d] is %d but must be from 1 to %d", name, i, size, maxSize)
		}
		if i > 0 {
			parameters += float64(size) * float64(sizes[i-1]+1)
		}
	}
	return parameters, nil
}

// layerSpecs describes the parameters of layers. The sizes are the input size, then the output size of each layer.
// The parameters' names begin with prefix.
func layerSpecs(prefix string, sizes []int) []sdk.ParameterSpec {
	var specs []sdk.ParameterSpec
	for l, outputs := range sizes[1:] {
		specs = append(specs,
			sdk.ParameterSpec{Name: fmt.Sprintf("%sweight_%d", prefix, l), Shape: []int{outputs, sizes[l]}},
			sdk.ParameterSpec{Name: fmt.Sprintf("%sbias_%d", prefix, l), Shape: []int{outputs}})
	}
	return specs
}

// drawLayers writes the initial values of a parameter. The values are in [-1, 1) / sqrt(inputs of its layer) and
// come from stream firstTensor+parameter. The sizes are those of newStack.
func drawLayers(seed uint64, firstTensor int, sizes []int, parameter int, values []float32) {
	bound := float32(1 / math.Sqrt(float64(sizes[parameter/2])))
	splitmix.Uniform(seed, uint64(firstTensor+parameter), values, bound) // #nosec G115 -- a tensor's number
}

// bind sets the storage of the parameters.
func (s *stack) bind(values []tensor.Tensor, gradients []*tensor.Gradient) {
	s.gradients = gradients
	for l := range s.layers {
		s.layers[l].Weight, s.layers[l].Bias = values[2*l].Data, values[2*l+1].Data
	}
}

// forward returns the output for x [rows, sizes[0]], which must not change until backward. The output is valid
// until the next forward.
func (s *stack) forward(x []float32) ([]float32, error) {
	if err := s.grow(len(x) / s.sizes[0]); err != nil {
		return nil, err
	}
	s.rows = len(x) / s.sizes[0]
	s.activations[0] = x
	for l := range s.layers {
		y := s.activation(l + 1)
		s.layers[l].Forward(y, s.activation(l))
		if s.relu[l] {
			vec.ReLU(y)
		}
	}
	return s.activation(len(s.layers)), nil
}

// backward overwrites the gradients of the parameters. The input dy is the gradient of the last forward's output.
// backward calls emit with the parameters' numbers, which begin at first. backward emits a layer's gradients before
// it computes the input gradient for the layer below, so that the reduction overlaps with this computation. After
// the last emit, backward overwrites dx [rows, sizes[0]] with the input's gradient; dx may be nil.
func (s *stack) backward(dy, dx []float32, first int, emit func(parameter int)) {
	above, below := s.deltas[0], s.deltas[1]
	delta := above[:copy(above, dy)]
	for l := len(s.layers) - 1; l >= 0; l-- {
		layer := &s.layers[l]
		if s.relu[l] {
			vec.ReLUGradient(delta, s.activation(l+1))
		}
		layer.BiasGradient(s.gradients[2*l+1].Values, delta)
		emit(first + 2*l + 1)
		layer.WeightGradient(s.gradients[2*l].Values, delta, s.activation(l))
		emit(first + 2*l)
		if l > 0 {
			next := below[:s.rows*layer.In]
			layer.InputGradient(next, delta)
			delta, above, below = next, below, above
		} else if dx != nil {
			layer.InputGradient(dx, delta)
		}
	}
}

// grow allocates memory for a batch of so many rows. Data parts that form their own batches may give a larger batch
// than before.
func (s *stack) grow(rows int) (err error) {
	if rows <= s.capacity {
		return nil
	}
	outputs := s.sizes[1:]
	for l, width := range outputs {
		if s.activations[l+1], err = engine.Grow(s.memory, s.activations[l+1], rows*width); err != nil {
			return err
		}
	}
	for i := range s.deltas {
		if s.deltas[i], err = engine.Grow(s.memory, s.deltas[i], rows*slices.Max(outputs)); err != nil {
			return err
		}
	}
	s.capacity = rows
	return nil
}

// activation returns the part of activations[l] that the current batch uses.
func (s *stack) activation(l int) []float32 { return s.activations[l][:s.rows*s.sizes[l]] }
