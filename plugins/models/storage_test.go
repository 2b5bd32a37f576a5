package models

import (
	"math"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

// fatal is a testing.TB or a *rapid.T.
type fatal interface{ Fatal(...any) }

// storage is the memory of a model's parameters, with a list of the emitted parameters.
type storage struct {
	params  []tensor.Tensor
	grads   []*tensor.Gradient
	emitted []int
	emit    func(parameter int)
}

// bind binds the parameters of a model. bind fills dense gradients with values that no backward pass computes,
// because backward must overwrite all of them.
func bind(t fatal, m sdk.Model) *storage {
	s := new(storage)
	s.emit = func(parameter int) { s.emitted = append(s.emitted, parameter) }
	for _, p := range m.Parameters() {
		spec := tensor.BucketSpec{Elements: tensor.Elements(p.Shape), Sparse: p.Sparse}
		if p.Sparse {
			spec.Width, spec.Capacity = p.Shape[1], p.Shape[0]
		}
		gradient := tensor.NewGradient(spec)
		for i := range gradient.Values {
			gradient.Values[i] = 9
		}
		s.params = append(s.params, tensor.New(p.Shape...))
		s.grads = append(s.grads, &gradient)
	}
	if err := m.Bind(s.params, s.grads); err != nil {
		t.Fatal(err)
	}
	return s
}

// spread returns the gradient of parameter k as a dense array.
func (s *storage) spread(k int) []float32 {
	g := s.grads[k]
	if !g.Sparse() {
		return slices.Clone(g.Values)
	}
	out := make([]float32, len(s.params[k].Data))
	for i, row := range g.Rows {
		copy(out[int(row)*g.Width:], g.Values[i*g.Width:(i+1)*g.Width])
	}
	return out
}

// requireDerivatives compares the gradients of all parameters and of the input with finite differences of the loss.
// No input of a ReLU may be within a step of 0.
func (s *storage) requireDerivatives(t *testing.T, m sdk.FeatureModel, b *sdk.Batch, step float32, tolerance float64) {
	t.Helper()
	output, err := m.Forward(b)
	if err != nil {
		t.Fatal(err)
	}
	upstream := upstreamOf(output, 0)
	input := make([]float32, len(b.Features))
	if err := m.BackwardInput(upstream, input, s.emit); err != nil {
		t.Fatal(err)
	}
	loss := func() float64 {
		output, err := m.Forward(b)
		if err != nil {
			t.Fatal(err)
		}
		return gradcheck.Weighted(upstream.Data, output.Data)
	}
	check := func(what string, x, gradient []float32) {
		for i, at := range x {
			x[i] = at + step
			above := loss()
			x[i] = at - step
			below := loss()
			x[i] = at
			if want := (above - below) / (2 * float64(step)); math.Abs(float64(gradient[i])-want) > tolerance {
				t.Errorf("%s, element %d: gradient is %g, the loss rises by %g", what, i, gradient[i], want)
			}
		}
	}
	for k, p := range m.Parameters() {
		check(p.Name, s.params[k].Data, s.grads[k].Values)
	}
	check("features", b.Features, input)
}
