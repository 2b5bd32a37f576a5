//go:build nvidia

package device_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// parameters are the same parameters on the host and on a device: a matrix, a vector, and a table with sparse
// gradients.
type parameters struct {
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

const tableRows, tableWidth = 9, 5

func hostParameters(sparse bool) parameters {
	p := parameters{}
	for k, shape := range [][]int{{7, 6}, {33}, {tableRows, tableWidth}} {
		if k == 2 && !sparse {
			break
		}
		v := tensor.New(shape...)
		copy(v.Data, computetest.Random(len(v.Data), uint64(k)))
		p.values = append(p.values, v)
		g := &tensor.Gradient{Values: make([]float32, len(v.Data))}
		if k == 2 {
			g.Width, g.Rows = tableWidth, make([]int32, 0, tableRows)
		}
		p.gradients = append(p.gradients, g)
	}
	return p
}

// on returns a copy of p on a device.
func (p parameters) on(t *testing.T, d *device.Device) parameters {
	out := parameters{}
	for k, v := range p.values {
		out.values = append(out.values, computetest.Tensor(t, d, v))
		g := *p.gradients[k]
		g.Values = computetest.In(t, d, g.Values)
		if g.Sparse() {
			g.Rows = make([]int32, 0, tableRows)
		}
		out.gradients = append(out.gradients, &g)
	}
	return out
}

// draw writes the gradients of a step. The table's gradient has no, some or all rows.
func (p parameters) draw(t *testing.T, step int) {
	for k, g := range p.gradients {
		if g.Sparse() {
			rows := []int32{0, 2, 3, 8, 1, 4, 5, 6, 7}[:[]int{4, 0, 9, 1}[step%4]]
			slices.Sort(rows)
			must(t, g.SetRows(len(rows)))
			copy(g.Rows, rows)
		}
		copy(g.Values, computetest.Random(len(g.Values), uint64(100*step+k)))
	}
}

func TestOptimizersStepAsOnTheHost(t *testing.T) {
	d := computetest.Open(t)
	for _, s := range []optimizer.Settings{
		{Optimizer: optimizer.SGD, LR: 0.1},
		{Optimizer: optimizer.SGD, LR: 0.1, WeightDecay: 0.01},
		{Optimizer: optimizer.SGD, LR: 0.1, Momentum: 0.9},
		{Optimizer: optimizer.SGD, LR: 0.1, Momentum: 0.9, Nesterov: true},
		{Optimizer: optimizer.SGD, LR: 0.1, Momentum: 0.9, Nesterov: true, WeightDecay: 0.01},
		{Optimizer: optimizer.Adam, LR: 0.01, Beta1: 0.9, Beta2: 0.999},
		{Optimizer: optimizer.Adam, LR: 0.01, Beta1: 0.8, Beta2: 0.99, WeightDecay: 0.1, Epsilon: 1e-3},
		{Optimizer: optimizer.Adagrad, LR: 0.1},
		{Optimizer: optimizer.Adagrad, LR: 0.1, WeightDecay: 0.1, Epsilon: 1e-3},
		{Optimizer: optimizer.RowwiseAdagrad, LR: 0.1},
	} {
		t.Run(fmt.Sprintf("%s momentum %g nesterov %v decay %g eps %g", s.Optimizer, s.Momentum, s.Nesterov,
			s.WeightDecay, s.Epsilon), func(t *testing.T) {
			want := hostParameters(s.WeightDecay == 0)
			got := want.on(t, d)
			onHost, err := optimizer.New(engine.Host, s, want.values, want.gradients)
			must(t, err)
			onDevice, err := optimizer.New(d, s, got.values, got.gradients)
			must(t, err)
			for pass := range 2 { // the second pass must not see state of the first
				must(t, onHost.Reset())
				must(t, onDevice.Reset())
				for step := range 4 {
					want.draw(t, step)
					for k, g := range want.gradients {
						if g.Sparse() {
							must(t, got.gradients[k].SetRows(len(g.Rows)))
							copy(got.gradients[k].Rows, g.Rows)
						}
						must(t, engine.In(d, got.gradients[k].Values, g.Values))
					}
					must(t, onHost.Step())
					must(t, onDevice.Step())
					clear(got.gradients[len(got.gradients)-1].Rows) // the step must have copied the rows before
					for k, v := range want.values {
						computetest.Near(t, fmt.Sprintf("parameter %d after step %d of pass %d", k, step, pass),
							computetest.Out(t, d, got.values[k].Data), v.Data, 2e-6)
					}
				}
			}
		})
	}
}

// A copy in to parameters, or to gradients that a step reads, waits for the step, even if all of them were copied
// out before.
func TestStepsComeBeforeCopiesIn(t *testing.T) {
	d := computetest.Open(t)
	for _, name := range d.Optimizers() {
		host := hostParameters(true)
		host.draw(t, 2)
		p := host.on(t, d)
		must(t, p.gradients[2].SetRows(tableRows))
		copy(p.gradients[2].Rows, host.gradients[2].Rows)
		o, err := optimizer.New(d, optimizer.Settings{Optimizer: name, LR: 0.1, Beta1: 0.9, Beta2: 0.9}, p.values,
			p.gradients)
		must(t, err)
		must(t, o.Reset())
		for k := range p.values {
			computetest.Out(t, d, p.values[k].Data)
			computetest.Out(t, d, p.gradients[k].Values)
		}
		must(t, o.Step())
		for k, v := range host.values {
			must(t, engine.In(d, p.values[k].Data, v.Data))
			computetest.Near(t, fmt.Sprintf("%s: parameter %d", name, k), computetest.Out(t, d, p.values[k].Data),
				v.Data, 0)
		}
	}
}
