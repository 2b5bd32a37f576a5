package ddp

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
)

// sgd is stochastic gradient descent with momentum, as PyTorch defines it:
// velocity = momentum*velocity + gradient, value -= lr*velocity. Without
// momentum the velocity is the gradient and takes no memory.
type sgd struct {
	lr, momentum float32
	values       []comm.Tensor
	gradients    []*comm.Gradient
	velocities   [][]float32 // by parameter; nil without momentum
}

// reset forgets the velocities.
func (s *sgd) reset() {
	if s.momentum == 0 {
		return
	}
	s.velocities = make([][]float32, len(s.values))
	for k, v := range s.values {
		s.velocities[k] = make([]float32, len(v.Data))
	}
}

// step applies the gradients. Of a sparse one only its rows are touched, unless
// momentum keeps the other rows moving.
func (s *sgd) step() {
	for k, v := range s.values {
		if s.momentum == 0 {
			addGradient(v.Data, -s.lr, s.gradients[k])
			continue
		}
		velocity := s.velocities[k]
		vec.Scale(s.momentum, velocity)
		addGradient(velocity, 1, s.gradients[k])
		vec.Axpy(-s.lr, velocity, v.Data)
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
