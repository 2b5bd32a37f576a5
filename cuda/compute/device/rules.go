//go:build nvidia

package device

import (
	"math"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/cuda/kernels"
	"github.com/psbench/psbench/sdk/optimizer"
)

// sgd is optimizer.SGD. With momentum, it also moves the rows of a table that a sparse gradient lacks.
type sgd struct {
	parameters
	settings   optimizer.Settings
	velocities state // nil without momentum
	rule       rule
}

func newSGD(p parameters, s optimizer.Settings) *sgd {
	o := &sgd{parameters: p, settings: s}
	o.rule = rule{o.dense, o.sparse}
	return o
}

// Reset implements optimizer.Optimizer.
func (o *sgd) Reset() error {
	if o.settings.Momentum == 0 {
		return o.group()
	}
	if err := o.velocities.reset(&o.parameters, o.size); err != nil {
		return err
	}
	return o.group(o.velocities)
}

// Step implements optimizer.Optimizer.
func (o *sgd) Step() error { return o.step(&o.rule) }

func (o *sgd) dense(q *kernels.Queue, g *kernels.Group) {
	s := &o.settings
	if s.Momentum == 0 {
		q.SGDGroup(g, float32(s.LR), float32(s.WeightDecay))
		return
	}
	q.MomentumGroup(g, float32(s.LR), float32(s.Momentum), float32(s.WeightDecay), s.Nesterov)
}

func (o *sgd) sparse(q *kernels.Queue, k int, rows []int32) {
	lr, momentum, g, w := float32(o.settings.LR), float32(o.settings.Momentum), o.gradients[k], o.values[k].Data
	if momentum == 0 {
		q.ScatterRows(-lr, g.Values, w, g.Width, rows)
		return
	}
	v := o.velocities[k]
	q.Scale(momentum, v)
	q.ScatterRows(1, g.Values, v, g.Width, rows)
	if !o.settings.Nesterov {
		q.Axpy(-lr, v, w)
		return
	}
	q.Axpy(-lr*momentum, v, w)
	q.ScatterRows(-lr, g.Values, w, g.Width, rows)
}

// adam is optimizer.Adam, and for sparse gradients torch.optim.SparseAdam.
type adam struct {
	parameters
	settings           optimizer.Settings
	steps              int
	moments1, moments2 state
	factors            vec.AdamStep // factors of this step
	rule               rule
}

func newAdam(p parameters, s optimizer.Settings) *adam {
	o := &adam{parameters: p, settings: s}
	o.rule = rule{o.dense, o.sparse}
	return o
}

// Reset implements optimizer.Optimizer.
func (o *adam) Reset() error {
	o.steps = 0
	if err := o.moments1.reset(&o.parameters, o.size); err != nil {
		return err
	}
	if err := o.moments2.reset(&o.parameters, o.size); err != nil {
		return err
	}
	return o.group(o.moments1, o.moments2)
}

// Step implements optimizer.Optimizer.
func (o *adam) Step() error {
	o.steps++
	s := &o.settings
	o.factors = vec.AdamStep{
		LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: epsilon(s, 1e-8), WeightDecay: s.WeightDecay,
		Correction1: 1 - math.Pow(s.Beta1, float64(o.steps)),
		Correction2: 1 - math.Pow(s.Beta2, float64(o.steps)),
	}
	return o.step(&o.rule)
}

func (o *adam) dense(q *kernels.Queue, g *kernels.Group) { q.AdamGroup(g, o.factors) }

// sparse adds epsilon to the square root before the bias correction, as SparseAdam does.
func (o *adam) sparse(q *kernels.Queue, k int, rows []int32) {
	factors, g := o.factors, o.gradients[k]
	factors.Epsilon /= math.Sqrt(factors.Correction2)
	q.AdamRows(o.values[k].Data, g.Values, o.moments1[k], o.moments2[k], g.Width, rows, factors)
}

// adagrad is optimizer.Adagrad or optimizer.RowwiseAdagrad. The latter keeps one number per row for a table with
// sparse gradients.
type adagrad struct {
	parameters
	settings optimizer.Settings
	rowwise  bool
	sums     state // sums of squares; per row for rowwise
	rule     rule
}

func newAdagrad(p parameters, s optimizer.Settings) *adagrad {
	o := &adagrad{parameters: p, settings: s, rowwise: s.Optimizer == optimizer.RowwiseAdagrad}
	o.rule = rule{o.dense, o.sparse}
	return o
}

// Reset implements optimizer.Optimizer.
func (o *adagrad) Reset() error {
	err := o.sums.reset(&o.parameters, func(k int) int {
		if g := o.gradients[k]; o.rowwise && g.Sparse() {
			return o.size(k) / g.Width
		}
		return o.size(k)
	})
	if err != nil {
		return err
	}
	return o.group(o.sums)
}

// Step implements optimizer.Optimizer.
func (o *adagrad) Step() error { return o.step(&o.rule) }

func (o *adagrad) dense(q *kernels.Queue, g *kernels.Group) {
	q.AdagradGroup(g, float32(o.settings.LR), float32(epsilon(&o.settings, 1e-10)), float32(o.settings.WeightDecay))
}

func (o *adagrad) sparse(q *kernels.Queue, k int, rows []int32) {
	step := q.AdagradRows
	if o.rowwise {
		step = q.RowwiseAdagrad
	}
	g := o.gradients[k]
	step(o.values[k].Data, g.Values, o.sums[k], g.Width, rows, float32(o.settings.LR),
		float32(epsilon(&o.settings, 1e-10)))
}
