//go:build !race

package points

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// brokenMatrix multiplies a row of three numbers by a matrix.
type brokenMatrix struct {
	sound
	weight tensor.Tensor
	g      *tensor.Gradient
	batch  *sdk.Batch
	calls  float32
}

func (*brokenMatrix) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}}
}
func (*brokenMatrix) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 3, Classes: 2} }
func (m *brokenMatrix) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.g = v[0], g[0]
	return nil
}

func (m *brokenMatrix) Initialize(seed uint64) {
	for i := range m.weight.Data {
		if m.weight.Data[i] = toys.Number(int(seed) + i); m.has("initial values by chance") {
			m.weight.Data[i] = rand.Float32()
		}
	}
	if m.has("a value that is not initialized") {
		m.weight.Data[5] = float32(math.NaN())
	}
}

func (m *brokenMatrix) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	if m.has("an odd batch is refused") && b.Size() > 1 && b.Size()%2 == 1 {
		return tensor.Tensor{}, errors.New("batches must be even")
	}
	if m.has("a huge batch is refused") && b.Size() > 1000 {
		return tensor.Tensor{}, errors.New("the batch is too large")
	}
	out := tensor.New(b.Size(), 2)
	for i := range out.Data {
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	if m.calls++; m.has("something is kept over Initialize") {
		out.Data[0] += m.calls
	}
	return out, nil
}

func (m *brokenMatrix) Backward(up tensor.Tensor, emit func(int)) error {
	if !m.has("gradients that add up") {
		clear(m.g.Values)
	}
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			m.g.Values[2*k+i%2] += u * x
		}
	}
	switch {
	case m.has("a value behind the end of a gradient"):
		behind(m.g.Values)
	case m.has("a parameter that is written"):
		m.weight.Data[0]++
	case m.has("a gradient that changes once it is emitted"):
		emit(0)
		m.g.Values[0]++
		return nil
	case m.has("a gradient that is too long"):
		m.g.Values[0] *= 2
	case m.has("a gradient that is zero"):
		clear(m.g.Values)
	case m.has("a gradient most of which is zero"):
		clear(m.g.Values[1:])
	case m.has("a batch that is written"):
		m.batch.Features[0] = 0
	case m.has("a gradient that is emitted twice"):
		emit(0)
	case m.has("a gradient that is not emitted"):
		return nil
	}
	emit(0)
	return nil
}
