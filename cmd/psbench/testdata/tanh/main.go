// Command tanh-plugin provides a model with a hidden layer.
package main

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/graph"
	"github.com/psbench/psbench/sdk/plugin"
)

type settings struct {
	Rows    int `json:"rows" doc:"indices are at least 0 and below this"`
	Hidden  int `json:"hidden" doc:"values of the hidden layer"`
	Classes int `json:"classes" doc:"targets are at least 0 and below this"`
}

func main() {
	plugin.Serve(sdk.NewModel("tanh", settings{Rows: 1024, Hidden: 32, Classes: 1024}, newModel))
}

type model struct {
	settings
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	networks  map[int]*network // by samples: the shapes in a graph do not change
	current   *network         // of the last Forward
}

// network is the graph for batches of one size.
type network struct {
	*graph.Graph
	counts []float32     // [samples, rows]
	output tensor.Tensor // [samples, classes]
}

func newModel(s settings, _ sdk.ModelEnv) (sdk.Model, error) {
	if s.Rows < 1 || s.Hidden < 1 || s.Classes < 1 {
		return nil, fmt.Errorf("settings rows, hidden and classes are %d, %d and %d but must be at least 1", s.Rows, s.Hidden, s.Classes)
	}
	return &model{settings: s, networks: map[int]*network{}}, nil
}

func (m *model) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{
		{Name: "hidden", Shape: []int{m.Rows, m.Hidden}},
		{Name: "output", Shape: []int{m.Hidden, m.Classes}},
	}
}

func (m *model) Inputs() sdk.InputSpec {
	return sdk.InputSpec{Rows: m.Rows, Classes: m.Classes}
}

func (m *model) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.values, m.gradients = values, gradients
	return nil
}

func (m *model) Initialize(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	for _, value := range m.values {
		for i := range value.Data {
			value.Data[i] = (random.Float32() - 0.5) / 8
		}
	}
}

func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	n, err := m.networkFor(b.Size())
	if err != nil {
		return tensor.Tensor{}, err
	}
	m.current = n
	clear(n.counts)
	for i := range b.Size() {
		for _, row := range b.Bag(i) {
			n.counts[i*m.Rows+int(row)]++
		}
	}
	n.output.Data, err = n.Forward()
	return n.output, err
}

func (m *model) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	if m.current == nil {
		return fmt.Errorf("the model cannot go backward before it went forward")
	}
	return m.current.Backward(outputGradient.Data, emit)
}

func (m *model) networkFor(samples int) (*network, error) {
	if n := m.networks[samples]; n != nil {
		return n, nil
	}
	n := &network{
		Graph:  graph.New(),
		counts: make([]float32, samples*m.Rows),
		output: tensor.Tensor{Shape: []int{samples, m.Classes}},
	}
	var nodes [2]*gorgonia.Node
	for k, p := range m.Parameters() {
		nodes[k] = n.Parameter(p.Name, m.values[k].Data, m.gradients[k].Values, p.Shape...)
	}
	x := n.Input("counts", n.counts, samples, m.Rows)
	for k, activation := range []func(*gorgonia.Node) (*gorgonia.Node, error){gorgonia.Tanh, softmax} {
		y, err := gorgonia.Mul(x, nodes[k])
		if err != nil {
			return nil, err
		}
		if x, err = activation(y); err != nil {
			return nil, err
		}
	}
	if err := n.Compile(x); err != nil {
		return nil, err
	}
	m.networks[samples] = n
	return n, nil
}

func softmax(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.SoftMax(x, 1) }
