//go:build nvidia

package device

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/kernels"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Optimizers implements optimizer.Engine: it lists psbench's own optimizers, with the formulas of sdk/optimizer.
func (d *Device) Optimizers() []string {
	return []string{optimizer.SGD, optimizer.Adam, optimizer.Adagrad, optimizer.RowwiseAdagrad}
}

// NewOptimizer implements optimizer.Engine. A step is one launch for all dense parameters, and one to four
// for each sparse one.
func (d *Device) NewOptimizer(s optimizer.Settings, values []tensor.Tensor,
	gradients []*tensor.Gradient) (optimizer.Optimizer, error) {
	p := parameters{device: d, values: values, gradients: gradients, rows: make([]*Transfer[int32], len(values))}
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
		return newSGD(p, s), nil
	case optimizer.Adam:
		return newAdam(p, s), nil
	default:
		return newAdagrad(p, s), nil
	}
}

// parameters are the parameters that an optimizer steps.
type parameters struct {
	device    *Device
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	rows      []*Transfer[int32] // rows of the sparse parameters
	dense     *kernels.Group     // nil if there are none, and until the first Reset
}

// group builds one group of all dense parameters with the optimizer's state for each.
func (p *parameters) group(states ...state) error {
	if p.dense != nil {
		return nil
	}
	var list []kernels.Parameter
	for k, g := range p.gradients {
		if g.Sparse() {
			continue
		}
		one := kernels.Parameter{W: p.values[k].Data, G: g.Values}
		for i, s := range states {
			if s != nil {
				*[]*[]float32{&one.S, &one.T}[i] = s[k]
			}
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil
	}
	if p.dense = p.device.compute.Queue.NewGroup(list); p.dense == nil {
		return p.device.compute.Queue.Err()
	}
	p.device.keep(p.dense)
	return nil
}

// rule is the step of an optimizer on the device: all dense parameters together, and each sparse parameter by the
// rows of its gradient.
type rule struct {
	dense  func(q *kernels.Queue, g *kernels.Group)
	sparse func(q *kernels.Queue, k int, rows []int32)
}

// step launches a step on the compute stream and returns any error.
func (p *parameters) step(r *rule) error {
	q := p.device.Compute().Queue
	if err := p.device.Read(false); err != nil {
		return err
	}
	p.device.Begin(Step)
	if p.dense != nil {
		r.dense(q, p.dense)
	}
	for k, g := range p.gradients {
		if !g.Sparse() {
			continue
		}
		rows, err := p.rows[k].Put(g.Rows)
		if err != nil {
			return err
		}
		r.sparse(q, k, rows)
	}
	p.device.End(Step)
	return q.Err()
}

// Mean implements engine.Averager. Mean needs one launch for up to 16 parts.
func (d *Device) Mean(mean []float32, parts [][]float32) error {
	q := d.Compute().Queue
	if err := d.Read(false); err != nil {
		return err
	}
	d.Begin(Mean)
	q.Mean(mean, parts)
	d.End(Mean)
	return q.Err()
}

// state is an optimizer's state for each parameter.
type state [][]float32

// reset sets the state to 0, with size(k) numbers for parameter k.
func (s *state) reset(p *parameters, size func(k int) int) error {
	if *s != nil {
		q := p.device.Compute().Queue
		for _, numbers := range *s {
			q.Clear(numbers)
		}
		return q.Err()
	}
	made := make(state, len(p.values))
	for k := range made {
		var err error
		if made[k], err = engine.Floats(p.device, size(k)); err != nil {
			return err
		}
	}
	*s = made
	return nil
}

func (p *parameters) size(k int) int { return len(p.values[k].Data) }

// epsilon returns the number that keeps the divisor above 0: the setting's value, or the optimizer's own default.
func epsilon(s *optimizer.Settings, own float64) float64 {
	if s.Epsilon != 0 {
		return s.Epsilon
	}
	return own
}
