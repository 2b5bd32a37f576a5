package toys

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Sizes is a model whose parameters have the sizes for testing hooks and servers: 1 element, an odd number, more
// than a chunk of any link, and the rows of a table. Sizes learns nothing.
type Sizes struct {
	DenseOnly bool // no table
	Large     bool // adds sizes of several chunks, and a table with more rows than a frame of one chunk holds
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

// Parameters implements sdk.Model.
func (m *Sizes) Parameters() []sdk.ParameterSpec {
	if m.Large {
		specs := []sdk.ParameterSpec{{Name: "one", Shape: []int{1}}, {Name: "odd", Shape: []int{17}},
			{Name: "huge", Shape: []int{1_000_003}}}
		if !m.DenseOnly {
			specs = append(specs, sdk.ParameterSpec{Name: "table", Shape: []int{13, 3}, Sparse: true},
				sdk.ParameterSpec{Name: "huge table", Shape: []int{largeRows, 97}, Sparse: true})
		}
		return specs
	}
	specs := []sdk.ParameterSpec{{Name: "one", Shape: []int{1}}, {Name: "odd", Shape: []int{7}},
		{Name: "huge", Shape: []int{comm.ChunkElements + 3}}}
	if !m.DenseOnly {
		specs = append(specs, sdk.ParameterSpec{Name: "table", Shape: []int{13, 3}, Sparse: true})
	}
	return specs
}

// Inputs implements sdk.Model.
func (m *Sizes) Inputs() sdk.InputSpec {
	if m.Large {
		return sdk.InputSpec{Rows: largeRows, Classes: 2}
	}
	return sdk.InputSpec{Rows: 13, Classes: 2}
}

// largeRows is the number of rows of the huge table.
const largeRows = 4099

// Bind implements sdk.Model.
func (m *Sizes) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.values, m.gradients = values, gradients
	return nil
}

// Initialize implements sdk.Model.
func (m *Sizes) Initialize(seed uint64) {
	for k, v := range m.values {
		for i := range v.Data {
			v.Data[i] = Number(int(seed%1000) + 31*k + i) // #nosec G115 -- below 1000
		}
	}
}

// Forward implements sdk.Model.
func (m *Sizes) Forward(b *sdk.Batch) (tensor.Tensor, error) { return tensor.New(b.Size(), 2), nil }

// Backward implements sdk.Model: the gradients are 0.
func (m *Sizes) Backward(_ tensor.Tensor, emit func(int)) error {
	for k := len(m.gradients) - 1; k >= 0; k-- {
		g := m.gradients[k]
		if g.Sparse() {
			if err := g.SetRows(0); err != nil {
				return err
			}
		}
		clear(g.Values)
		emit(k)
	}
	return nil
}

// matrix multiplies a row of three numbers by a matrix and adds a bias.
type matrix struct {
	weight, bias tensor.Tensor // [3, 2] and [2]
	gradients    []*tensor.Gradient
	batch        *sdk.Batch
}

func (*matrix) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}, {Name: "bias", Shape: []int{2}}}
}

func (*matrix) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 3, Classes: 2} }

func (m *matrix) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.bias, m.gradients = v[0], v[1], g
	return nil
}

func (m *matrix) Initialize(seed uint64) {
	for k, v := range []tensor.Tensor{m.weight, m.bias} {
		for i := range v.Data {
			v.Data[i] = Number(int(seed%1000) + 31*k + i) // #nosec G115 -- below 1000
		}
	}
}

func (m *matrix) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	out := tensor.New(len(b.Features)/3, 2)
	for i := range out.Data {
		out.Data[i] = m.bias.Data[i%2]
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	return out, nil
}

func (m *matrix) Backward(up tensor.Tensor, emit func(int)) error {
	weight, bias := m.gradients[0].Values, m.gradients[1].Values
	clear(bias)
	for i, u := range up.Data {
		bias[i%2] += u
	}
	emit(1)
	clear(weight)
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			weight[2*k+i%2] += u * x
		}
	}
	emit(0)
	return nil
}

// BackwardInput implements sdk.FeatureModel.
func (m *matrix) BackwardInput(up tensor.Tensor, input []float32, emit func(int)) error {
	if err := m.Backward(up, emit); err != nil {
		return err
	}
	clear(input)
	for i, u := range up.Data {
		for k := range 3 {
			input[i/2*3+k] += u * m.weight.Data[2*k+i%2]
		}
	}
	return nil
}

// squaredDistance returns half of the mean squared distance to the target.
type squaredDistance struct {
	output  tensor.Tensor
	targets []int64
}

func (c *squaredDistance) distance(i int) float32 {
	return c.output.Data[i] - float32(c.targets[i/c.output.Shape[1]])
}

func (c *squaredDistance) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.output, c.targets = output, targets
	sum := 0.0
	for i := range output.Data {
		d := float64(c.distance(i))
		sum += d * d / 2
	}
	return sum / float64(len(targets)), nil
}

func (c *squaredDistance) Backward(g tensor.Tensor) error {
	for i := range g.Data {
		g.Data[i] = c.distance(i) / float32(len(c.targets))
	}
	return nil
}
