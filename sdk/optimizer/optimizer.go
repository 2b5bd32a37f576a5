// Package optimizer provides the optimizers that trainers and servers step their
// parameters with.
package optimizer

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
)

// Optimizer steps the parameters that it was made for.
type Optimizer interface {
	// Reset forgets what earlier steps left behind. It must be called before the
	// first Step; the first one allocates the optimizer's state.
	Reset()
	// Step applies the gradients. It allocates nothing and may overwrite the values
	// of dense gradients.
	Step()
}

// New makes the optimizer that s, which has passed Check, asks for. Values and gradients
// are those of the parameters, in the same order. The values need no data before the
// first Reset. A gradient is dense, or it is sparse and lists rows of a table; each of
// them once, in any order. Weight decay beside a sparse gradient is an error.
func New(s Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (Optimizer, error) {
	for k, g := range gradients {
		if s.WeightDecay != 0 && g.Sparse() {
			return nil, fmt.Errorf("weight_decay is %v but must be 0: the gradient of parameter %d, of shape %v, is sparse, and rows without a gradient would not decay",
				s.WeightDecay, k, values[k].Shape)
		}
	}
	p := parameters{values, gradients}
	switch s.Optimizer {
	case SGD:
		return &sgd{parameters: p, settings: s}, nil
	case Adam:
		return &adam{parameters: p, settings: s}, nil
	case Adagrad, RowwiseAdagrad:
		return &adagrad{parameters: p, settings: s, rowwise: s.Optimizer == RowwiseAdagrad}, nil
	default:
		return nil, s.checkName()
	}
}

// parameters are what an optimizer steps.
type parameters struct {
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

// state is what an optimizer keeps of each parameter: as many numbers as that has
// values, unless said otherwise.
type state [][]float32

// reset makes the state 0, with size(k) numbers for parameter k.
func (s *state) reset(count int, size func(k int) int) {
	if *s == nil {
		*s = make(state, count)
		for k := range *s {
			(*s)[k] = make([]float32, size(k))
		}
		return
	}
	for _, numbers := range *s {
		clear(numbers)
	}
}

// size is the number of values of parameter k.
func (p *parameters) size(k int) int { return len(p.values[k].Data) }

// row is a row of a table with this many columns.
func row(table []float32, width int, row int32) []float32 {
	at := int(row) * width
	return table[at : at+width]
}
