// Package optimizer provides optimizers for trainers and servers.
package optimizer

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Optimizer updates the parameters that it was created for.
type Optimizer interface {
	// Reset clears the optimizer's state. Call Reset before the first Step. The first Reset allocates
	// the state.
	Reset() error
	// Step updates the parameters with the gradients. Step allocates nothing and may overwrite the
	// values of dense gradients.
	Step() error
}

// New returns the optimizer that s chooses; s must have passed Check. Parameters, gradients and the
// optimizer's state lie in the memory of e, which also computes the steps.
//
// values and gradients have one element per parameter, in the same order. values needs no data
// before the first Reset. A sparse gradient lists rows of a table in any order, each row at most
// once. New returns an error for weight decay with a sparse gradient, and for an optimizer that e
// lacks.
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

// parameters are the parameters that an optimizer updates.
type parameters struct {
	engine    engine.Engine
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

// state holds an optimizer's numbers for each parameter, usually one per value.
type state [][]float32

// reset sets the state to 0, with size(k) numbers for parameter k.
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

// size returns the number of values of parameter k.
func (p *parameters) size(k int) int { return len(p.values[k].Data) }

// row returns a row of a table with width columns.
func row(table []float32, width int, row int32) []float32 {
	at := int(row) * width
	return table[at : at+width]
}
