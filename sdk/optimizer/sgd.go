package optimizer

import "github.com/psbench/psbench/comm/vec"

// sgd is stochastic gradient descent as in torch.optim.SGD, with a dampening of 0: see vec.SGD and
// vec.Momentum. Without momentum, sgd has no state and changes only the rows of a sparse gradient.
// With momentum, the other rows keep moving, so a step costs as much as with a dense gradient.
type sgd struct {
	parameters
	settings   Settings
	velocities state // nil without momentum
}

func (o *sgd) Reset() error {
	if o.settings.Momentum == 0 {
		return nil
	}
	return o.velocities.reset(&o.parameters, o.size)
}

func (o *sgd) Step() error {
	lr, momentum, decay := float32(o.settings.LR), float32(o.settings.Momentum), float32(o.settings.WeightDecay)
	for k, g := range o.gradients {
		w := o.values[k].Data
		switch {
		case momentum == 0 && g.Sparse():
			vec.ScatterAxpy(-lr, g.Values, w, g.Width, g.Rows)
		case momentum == 0:
			vec.SGD(w, g.Values, lr, decay)
		case g.Sparse():
			v := o.velocities[k]
			vec.Scale(momentum, v)
			vec.ScatterAxpy(1, g.Values, v, g.Width, g.Rows)
			if o.settings.Nesterov {
				vec.Axpy(-lr*momentum, v, w)
				vec.ScatterAxpy(-lr, g.Values, w, g.Width, g.Rows)
			} else {
				vec.Axpy(-lr, v, w)
			}
		default:
			vec.Momentum(w, g.Values, o.velocities[k], lr, momentum, decay, o.settings.Nesterov)
		}
	}
	return nil
}
