package points

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// What parts are tested with: the smallest of each kind that does its work.
var (
	meanServer = sdk.NewElementwiseServer("plugintest", sdk.OnArrival, struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
		return mean(env.Trainers), nil
	})
	pushHook = sdk.NewHook("plugintest_push", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return push{env.Server}, nil
	}, sdk.LinkServer)
	groupHook = sdk.NewHook("plugintest_group", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return groupMean{env.Group}, nil
	}, sdk.LinkGroup)
	sizesModel = sdk.NewModel("plugintest_sizes", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) { return &Sizes{DenseOnly: true}, nil })
	matrix     = sdk.NewModel("plugintest_matrix", struct{}{}, func(struct{}, sdk.ModelEnv) (sdk.Model, error) { return &matrixModel{}, nil })
	squares    = sdk.NewCriterion("plugintest", struct{}{}, func(struct{}, sdk.CriterionEnv) (sdk.Criterion, error) { return &squaredDistance{}, nil })

	toys = []sdk.Part{meanServer, pushHook, groupHook, sizesModel, matrix, squares}
)

// mean averages over so many trainers.
type mean int

func (mean) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

func (n mean) Finish(sum []float32) { vec.Scale(1/float32(n), sum) }

// push sends buckets to the server.
type push struct{ to comm.PushPuller }

func (p push) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return p.to.PushPull(state.Batch(), b)
}

func (push) Reset() {}

// groupMean averages buckets over the group.
type groupMean struct{ of comm.Group }

func (h groupMean) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.of.Average(state.Batch(), b)
}

func (groupMean) Reset() {}

// Sizes is a model of parameters of the sizes that hooks and servers are tried with: of 1
// element, of an odd number, of more than a chunk of any link, and the rows of a table. It learns
// nothing.
type Sizes struct {
	DenseOnly bool // without the table
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

// Parameters implements sdk.Model.
func (m *Sizes) Parameters() []sdk.ParameterSpec {
	specs := []sdk.ParameterSpec{{Name: "one", Shape: []int{1}}, {Name: "odd", Shape: []int{7}}, {Name: "huge", Shape: []int{comm.ChunkElements + 3}}}
	if !m.DenseOnly {
		specs = append(specs, sdk.ParameterSpec{Name: "table", Shape: []int{13, 3}, Sparse: true})
	}
	return specs
}

// Inputs implements sdk.Model.
func (m *Sizes) Inputs() sdk.InputSpec { return sdk.InputSpec{Rows: 13, Classes: 2} }

// Bind implements sdk.Model.
func (m *Sizes) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.values, m.gradients = values, gradients
	return nil
}

// Initialize implements sdk.Model.
func (m *Sizes) Initialize(seed uint64) {
	for k, v := range m.values {
		for i := range v.Data {
			v.Data[i] = number(int(seed%1000) + 31*k + i) // #nosec G115 -- below 1000
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

// matrixModel is a row of three numbers times a matrix.
type matrixModel struct {
	weight tensor.Tensor // [3, 2]
	g      *tensor.Gradient
	batch  *sdk.Batch
}

func (*matrixModel) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}}
}

func (*matrixModel) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 3, Classes: 2} }

func (m *matrixModel) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.g = v[0], g[0]
	return nil
}

func (m *matrixModel) Initialize(seed uint64) {
	for i := range m.weight.Data {
		m.weight.Data[i] = number(int(seed%1000) + i) // #nosec G115 -- below 1000
	}
}

func (m *matrixModel) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	out := tensor.New(b.Size(), 2)
	for i := range out.Data {
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	return out, nil
}

func (m *matrixModel) Backward(up tensor.Tensor, emit func(int)) error {
	clear(m.g.Values)
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			m.g.Values[2*k+i%2] += u * x
		}
	}
	emit(0)
	return nil
}

// squaredDistance is half of the mean squared distance to the target.
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
