package points

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// wide is a model of one matrix whose gradient has one fault.
type wide struct {
	rows, columns int
	spoil         func(gradient []float32)
	drawn         *rand.Rand // nil: no randomness
	smallest      int
	bags          int // indices per bag, which count as no numbers; 0: takes none

	weight   tensor.Tensor
	gradient *tensor.Gradient
	left     float32 // random factor on the batch's numbers; 1 if drawn is nil
	batch    *sdk.Batch
}

func (m *wide) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{m.rows, m.columns}}}
}

func (m *wide) Inputs() sdk.InputSpec {
	in := sdk.InputSpec{Features: m.rows, Classes: m.columns}
	if m.bags != 0 {
		in.Rows, in.BagLength = 9, m.bags
	}
	return in
}

func (m *wide) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.gradient = v[0], g[0]
	return nil
}

func (m *wide) Initialize(seed uint64) {
	for i := range m.weight.Data {
		m.weight.Data[i] = toys.Number(int(seed%1000)+i) / 16 // #nosec G115 -- below 1000
	}
	if m.drawn != nil {
		m.drawn = rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- a test
	}
}

func (m *wide) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	if b.Size() < m.smallest {
		return tensor.Tensor{}, errors.New("a batch has no variance")
	}
	for i := range b.Size() {
		if m.bags != 0 &&
			(len(b.Bag(i)) == 0 || len(b.Bag(i)) != len(b.Bag(0)) || m.bags > 0 && len(b.Bag(i)) != m.bags) {
			return tensor.Tensor{}, errors.New("the bags are no matrix")
		}
	}
	if m.batch, m.left = b, 1; m.drawn != nil {
		m.left = 1 + m.drawn.Float32()
	}
	out := tensor.New(b.Size(), m.columns)
	for i := range b.Size() {
		row := out.Data[i*m.columns : (i+1)*m.columns]
		for k, x := range b.Features[i*m.rows : (i+1)*m.rows] {
			for j := range row {
				row[j] += m.left * x * m.weight.Data[k*m.columns+j]
			}
		}
	}
	return out, nil
}

func (m *wide) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.gradient.Values)
	for i := range m.batch.Size() {
		for k, x := range m.batch.Features[i*m.rows : (i+1)*m.rows] {
			for j, u := range up.Data[i*m.columns : (i+1)*m.columns] {
				m.gradient.Values[k*m.columns+j] += m.left * x * u
			}
		}
	}
	if m.spoil != nil {
		m.spoil(m.gradient.Values)
	}
	emit(0)
	return nil
}

// firstBroken returns the first point that a model violates, and the error.
func firstBroken(make func() sdk.Model, declare func(sdk.Part) sdk.Part, only ...string) (point string, err error) {
	s := &harness.Subject{
		Part: declare(sdk.NewModel("tested", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) {
			return make(), nil
		})),
		Largest: 64,
	}
	for _, p := range Of(s) {
		if len(only) > 0 && !slices.Contains(only, p.Name) {
			continue
		}
		if err := p.Check(s); err != nil {
			return p.Name, err
		}
	}
	return "", nil
}

func asItIs(part sdk.Part) sdk.Part { return part }

// The points respect a model's declarations. The errors of the points name declarations that a model lacks.
func TestDeclaredModels(t *testing.T) {
	draws := func() sdk.Model { return &wide{rows: 7, columns: 3, drawn: &rand.Rand{}} }
	normalizes := func() sdk.Model { return &wide{rows: 7, columns: 3, smallest: 2} }
	for _, c := range []struct {
		name    string
		make    func() sdk.Model
		declare func(sdk.Part) sdk.Part
		point   string
		says    string
	}{
		{"stochastic", draws, sdk.Stochastic, "", ""},
		{"stochastic, undeclared", draws, asItIs, "overwrites", "must declare that it is stochastic"},
		{"smallest batch", normalizes, func(p sdk.Part) sdk.Part { return sdk.SmallestBatch(2, p) }, "", ""},
		{"smallest batch, undeclared", normalizes, asItIs, "sizes", "must declare its smallest batch"},
		{"bags of 5", func() sdk.Model { return &wide{rows: 7, columns: 3, bags: 5} }, asItIs, "", ""},
		{"equally long bags", func() sdk.Model { return &wide{rows: 7, columns: 3, bags: sdk.EquallyLong} }, asItIs, "",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			point, err := firstBroken(c.make, c.declare)
			if point != c.point || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: it is caught by %q, want %q: %v", c.name, point, c.point, err)
			}
		})
	}
}
