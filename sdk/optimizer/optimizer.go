// Package optimizer provides the optimizers that trainers and servers step their
// parameters with.
package optimizer

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Optimizer steps the parameters that it was made for.
type Optimizer interface {
	// Reset forgets what earlier steps left behind. It must be called before the
	// first Step; the first one allocates the optimizer's state.
	Reset() error
	// Step applies the gradients. It allocates nothing and may overwrite the values
	// of dense gradients.
	Step() error
}

// New makes the optimizer that s, which has passed Check, asks for, of parameters in the
// memory of e, where its state lies and its steps are made too. Values and gradients
// are those of the parameters, in the same order. The values need no data before the
// first Reset. A gradient is dense, or it is sparse and lists rows of a table; each of
// them once, in any order. Weight decay beside a sparse gradient is an error, and so is an
// optimizer that e lacks.
func New(e engine.Engine, s Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (Optimizer, error) {
	if err := s.checkDecay(values, gradients); err != nil {
		return nil, err
	}
	if !e.Addressable() {
		return newElsewhere(e, s, values, gradients)
	}
	p := parameters{e, values, gradients}
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
	engine    engine.Engine
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

// state is what an optimizer keeps of each parameter: as many numbers as that has
// values, unless said otherwise.
type state [][]float32

// reset makes the state of some parameters 0, with size(k) numbers for parameter k.
func (s *state) reset(p *parameters, size func(k int) int) error {
	if *s != nil {
		for _, numbers := range *s {
			clear(numbers)
		}
		return nil
	}
	made := make(state, len(p.values))
	for k := range made {
		var err error
		if made[k], err = engine.Floats(p.engine, size(k)); err != nil {
			return err
		}
	}
	*s = made
	return nil
}

// size is the number of values of parameter k.
func (p *parameters) size(k int) int { return len(p.values[k].Data) }

// row is a row of a table with this many columns.
func row(table []float32, width int, row int32) []float32 {
	at := int(row) * width
	return table[at : at+width]
}
