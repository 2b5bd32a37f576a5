//go:build nvidia

package models

import (
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// layers is a sequence of linear layers y = x Wᵀ + b, with a ReLU after some of them. Layer l has its weight in
// tensor 2l and its bias in tensor 2l+1. Forward needs one launch per layer. Backward needs three, and one more if
// a ReLU follows.
type layers struct {
	*base
	sizes     []int // input size, then the output size of each layer
	relu      func(layer int) bool
	values    []tensor.Tensor
	gradients []*tensor.Gradient

	rows        int          // rows of the last forward
	capacity    int          // rows that fit into the buffers
	activations [][]float32  // [l] is the input of layer l, the last element is the output; [rows, sizes[l]]
	deltas      [2][]float32 // gradients of two neighbouring activations
}

func newLayers(b *base, sizes []int, relu func(layer int) bool) *layers {
	return &layers{base: b, sizes: slices.Clone(sizes), relu: relu, activations: make([][]float32, len(sizes))}
}

func (s *layers) count() int { return len(s.sizes) - 1 }

func (s *layers) bind(values []tensor.Tensor, gradients []*tensor.Gradient) {
	s.values, s.gradients = values, gradients
}

// forward returns the output for x [rows, sizes[0]], which must not change until backward.
func (s *layers) forward(x []float32) ([]float32, error) {
	s.rows = len(x) / s.sizes[0]
	if err := s.grow(s.rows); err != nil {
		return nil, err
	}
	s.activations[0] = x
	for l := range s.count() {
		s.lane.Queue.Linear(s.activation(l+1), s.activation(l), s.values[2*l].Data, s.values[2*l+1].Data,
			s.rows, s.sizes[l], s.sizes[l+1], s.relu(l))
	}
	return s.activation(s.count()), nil
}

// backward overwrites the gradients of the parameters. The input dy is the gradient of the last output. backward
// calls emit with the parameters' numbers, which begin at first. After the last emit, backward overwrites dx [rows,
// sizes[0]] with the input's gradient; dx may be nil.
func (s *layers) backward(dy, dx []float32, first int, emit func(parameter int)) {
	q, above, below := s.lane.Queue, s.deltas[0], s.deltas[1]
	delta := dy
	if s.relu(s.count() - 1) { // the gradient of ReLU is computed in place
		delta = above[:len(dy)]
		q.Copy(delta, dy)
	}
	for l := s.count() - 1; l >= 0; l-- {
		in, out := s.sizes[l], s.sizes[l+1]
		if s.relu(l) {
			q.ReLUGradient(delta, s.activation(l+1))
		}
		q.ColumnSum(s.gradients[2*l+1].Values, delta)
		emit(first + 2*l + 1)
		q.Gemm(s.gradients[2*l].Values, delta, s.activation(l), out, in, s.rows, true, false)
		emit(first + 2*l)
		next := dx
		if l > 0 {
			next = below[:s.rows*in]
		}
		if next != nil {
			q.Gemm(next, delta, s.values[2*l].Data, s.rows, in, out, false, false)
		}
		delta, above, below = next, below, above
	}
}

// grow allocates memory for a batch of so many rows. Data parts that form their own batches may give a larger batch
// than before.
func (s *layers) grow(rows int) (err error) {
	if rows <= s.capacity {
		return nil
	}
	outputs := s.sizes[1:]
	for l, width := range outputs {
		if s.activations[l+1], err = engine.Grow(s.dev, s.activations[l+1], rows*width); err != nil {
			return err
		}
	}
	for i := range s.deltas {
		if s.deltas[i], err = engine.Grow(s.dev, s.deltas[i], rows*slices.Max(outputs)); err != nil {
			return err
		}
	}
	s.capacity = rows
	return nil
}

// activation returns the part of activations[l] that the current batch uses.
func (s *layers) activation(l int) []float32 { return s.activations[l][:s.rows*s.sizes[l]] }
