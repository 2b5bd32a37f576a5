// Package optimizer provides the optimizers that trainers and servers step their
// parameters with.
package optimizer

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
)

// SGD is stochastic gradient descent with momentum, as PyTorch defines it:
// velocity = momentum*velocity + gradient, value -= lr*velocity. Without
// momentum the velocity is the gradient and takes no memory. Values and Gradients
// are the parameters and their gradients, in the same order.
type SGD struct {
	LR, Momentum float32
	Values       []comm.Tensor
	Gradients    []*comm.Gradient

	velocities [][]float32 // by parameter; nil without momentum
}

// Reset forgets the velocities. It must be called before the first Step.
func (s *SGD) Reset() {
	if s.Momentum == 0 {
		return
	}
	s.velocities = make([][]float32, len(s.Values))
	for k, v := range s.Values {
		s.velocities[k] = make([]float32, len(v.Data))
	}
}

// Step applies the gradients. Of a sparse one only its rows are touched, unless
// momentum keeps the other rows moving.
func (s *SGD) Step() {
	for k, v := range s.Values {
		if s.Momentum == 0 {
			addGradient(v.Data, -s.LR, s.Gradients[k])
			continue
		}
		velocity := s.velocities[k]
		vec.Scale(s.Momentum, velocity)
		addGradient(velocity, 1, s.Gradients[k])
		vec.Axpy(-s.LR, velocity, v.Data)
	}
}

// addGradient adds a*g to the tensor y.
func addGradient(y []float32, a float32, g *comm.Gradient) {
	if !g.Sparse() {
		vec.Axpy(a, g.Values, y)
		return
	}
	for i, row := range g.Rows {
		at := int(row) * g.Width
		vec.Axpy(a, g.Values[i*g.Width:(i+1)*g.Width], y[at:at+g.Width])
	}
}
