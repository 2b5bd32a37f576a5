//go:build nvidia

package device

import (
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Optimizers implements optimizer.Engine: they are psbench's own, as sdk/optimizer has them.
func (d *Device) Optimizers() []string {
	return []string{optimizer.SGD, optimizer.Adam, optimizer.Adagrad, optimizer.RowwiseAdagrad}
}

// NewOptimizer implements optimizer.Engine. Its steps are kernels on the compute stream.
func (d *Device) NewOptimizer(s optimizer.Settings, values []tensor.Tensor, gradients []*tensor.Gradient) (optimizer.Optimizer, error) {
	p := parameters{Device: d, values: values, gradients: gradients, rows: make([]*Transfer[int32], len(values))}
	for k, g := range gradients {
		if !g.Sparse() {
			continue
		}
		var err error
		if p.rows[k], err = NewTransfer[int32](d, d.compute); err != nil {
			return nil, err
		}
	}
	switch s.Optimizer {
	case optimizer.SGD:
		return &sgd{parameters: p, settings: s}, nil
	case optimizer.Adam:
		return &adam{parameters: p, settings: s}, nil
	default:
		return &adagrad{parameters: p, settings: s, rowwise: s.Optimizer == optimizer.RowwiseAdagrad}, nil
	}
}

// parameters are what an optimizer steps.
type parameters struct {
	*Device
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	rows      []*Transfer[int32] // of the sparse ones
}

// each calls step for every parameter with the rows of its gradient on the device, nil of a dense one,
// and says what went wrong with the launches. A gradient without rows steps nothing.
func (p *parameters) each(step func(k int, rows []int32)) error {
	for k, g := range p.gradients {
		if !g.Sparse() {
			step(k, nil)
			continue
		}
		rows, err := p.rows[k].Put(g.Rows)
		if err != nil {
			return err
		}
		step(k, rows)
	}
	return p.compute.Queue.Err()
}

// state is what an optimizer keeps of each parameter.
type state [][]float32

// reset makes the state 0, with size(k) numbers for parameter k.
func (s *state) reset(p *parameters, size func(k int) int) error {
	if *s != nil {
		for _, numbers := range *s {
			p.compute.Queue.Clear(numbers)
		}
		return p.compute.Queue.Err()
	}
	made := make(state, len(p.values))
	for k := range made {
		var err error
		if made[k], err = engine.Floats(p.Device, size(k)); err != nil {
			return err
		}
	}
	*s = made
	return nil
}

func (p *parameters) size(k int) int { return len(p.values[k].Data) }

// sgd is optimizer.SGD. With momentum the rows of a table that a sparse gradient lacks move on as well.
type sgd struct {
	parameters
	settings   optimizer.Settings
	velocities state // nil without momentum
	step       func(k int, rows []int32)
}

// Reset implements optimizer.Optimizer.
func (o *sgd) Reset() error {
	o.step = o.stepOne
	if o.settings.Momentum == 0 {
		return nil
	}
	return o.velocities.reset(&o.parameters, o.size)
}

// Step implements optimizer.Optimizer.
func (o *sgd) Step() error { return o.each(o.step) }

func (o *sgd) stepOne(k int, rows []int32) {
	lr, momentum, decay := float32(o.settings.LR), float32(o.settings.Momentum), float32(o.settings.WeightDecay)
	q, g, w := o.compute.Queue, o.gradients[k], o.values[k].Data
	switch {
	case momentum == 0 && g.Sparse():
		q.ScatterRows(-lr, g.Values, w, g.Width, rows)
	case momentum == 0:
		q.SGD(w, g.Values, lr, decay)
	case g.Sparse():
		v := o.velocities[k]
		q.Scale(momentum, v)
		q.ScatterRows(1, g.Values, v, g.Width, rows)
		if o.settings.Nesterov {
			q.Axpy(-lr*momentum, v, w)
			q.ScatterRows(-lr, g.Values, w, g.Width, rows)
		} else {
			q.Axpy(-lr, v, w)
		}
	default:
		q.Momentum(w, g.Values, o.velocities[k], lr, momentum, decay, o.settings.Nesterov)
	}
}

// adam is optimizer.Adam, and for sparse gradients as torch.optim.SparseAdam: see there.
type adam struct {
	parameters
	settings      optimizer.Settings
	steps         int
	moments1      state
	moments2      state
	dense, sparse vec.AdamStep // of this step
	step          func(k int, rows []int32)
}

// Reset implements optimizer.Optimizer.
func (o *adam) Reset() error {
	o.steps, o.step = 0, o.stepOne
	if err := o.moments1.reset(&o.parameters, o.size); err != nil {
		return err
	}
	return o.moments2.reset(&o.parameters, o.size)
}

// Step implements optimizer.Optimizer.
func (o *adam) Step() error {
	o.steps++
	s := &o.settings
	o.dense = vec.AdamStep{
		LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: epsilon(s, 1e-8), WeightDecay: s.WeightDecay,
		Correction1: 1 - math.Pow(s.Beta1, float64(o.steps)),
		Correction2: 1 - math.Pow(s.Beta2, float64(o.steps)),
	}
	// SparseAdam adds epsilon to the square root before that is corrected.
	o.sparse = o.dense
	o.sparse.Epsilon /= math.Sqrt(o.dense.Correction2)
	return o.each(o.step)
}

func (o *adam) stepOne(k int, rows []int32) {
	q, g, w, m, v := o.compute.Queue, o.gradients[k], o.values[k].Data, o.moments1[k], o.moments2[k]
	if g.Sparse() {
		q.AdamRows(w, g.Values, m, v, g.Width, rows, o.sparse)
	} else {
		q.Adam(w, g.Values, m, v, o.dense)
	}
}

// adagrad is optimizer.Adagrad, or optimizer.RowwiseAdagrad, which keeps one number for a row of a
// sparse gradient's table.
type adagrad struct {
	parameters
	settings optimizer.Settings
	rowwise  bool
	sums     state // of squares; by row where rowwise applies
	step     func(k int, rows []int32)
}

// Reset implements optimizer.Optimizer.
func (o *adagrad) Reset() error {
	o.step = o.stepOne
	return o.sums.reset(&o.parameters, func(k int) int {
		if g := o.gradients[k]; o.rowwise && g.Sparse() {
			return o.size(k) / g.Width
		}
		return o.size(k)
	})
}

// Step implements optimizer.Optimizer.
func (o *adagrad) Step() error { return o.each(o.step) }

func (o *adagrad) stepOne(k int, rows []int32) {
	lr, eps := float32(o.settings.LR), float32(epsilon(&o.settings, 1e-10))
	q, g, w, sums := o.compute.Queue, o.gradients[k], o.values[k].Data, o.sums[k]
	switch {
	case !g.Sparse():
		q.Adagrad(w, g.Values, sums, lr, eps, float32(o.settings.WeightDecay))
	case o.rowwise:
		q.RowwiseAdagrad(w, g.Values, sums, g.Width, rows, lr, eps)
	default:
		q.AdagradRows(w, g.Values, sums, g.Width, rows, lr, eps)
	}
}

// epsilon is what keeps the divisor above 0: the optimizer's own unless the settings have one.
func epsilon(s *optimizer.Settings, own float64) float64 {
	if s.Epsilon != 0 {
		return s.Epsilon
	}
	return own
}
