//go:build nvidia

package models

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/bags"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// dummy implements the model dummy of plugins/models: an embedding bag (mean), linear layers, and a softmax over
// classes.
type dummy struct {
	base
	settings models.DummySettings
	layers   *layers
	bags     *bags.Bags

	batch    *sdk.Batch // batch of the last Forward, until Initialize
	output   tensor.Tensor
	embedded []float32 // [samples, embedding_dim], and its gradient
	deltas   [2][]float32
}

// NewDummy builds the model from the settings of plugins/models. The setting engine must be layers, and blas must
// be auto.
func NewDummy(s models.DummySettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(env.MaxBatch); err != nil {
		return nil, err
	}
	b, err := newBase(env, s.BLAS)
	if err != nil {
		return nil, err
	}
	if s.Engine != models.Layers {
		return nil, fmt.Errorf("setting engine is %s but must be %s: %s has no graphs", quote.String(s.Engine),
			models.Layers, b.dev.Name())
	}
	m := &dummy{base: b, settings: s, output: tensor.Tensor{Shape: []int{0, s.DenseOutputSize}}}
	if m.bags, err = bags.New(m.dev, m.lane); err != nil {
		return nil, err
	}
	sizes := append([]int{s.DenseInputSize}, slices.Repeat([]int{s.DenseOutputSize}, s.DenseLayersCount)...)
	m.layers = newLayers(&m.base, sizes, func(int) bool { return false })
	return m, m.grow(env.MaxBatch)
}

func (m *dummy) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *dummy) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

// Bind implements sdk.Model.
func (m *dummy) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := m.bind(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.layers.bind(values[1:], gradients[1:])
	return nil
}

// Initialize implements sdk.Model.
func (m *dummy) Initialize(seed uint64) {
	m.initialize(func(k int, values []float32) { m.settings.Draw(seed, k, values) })
	m.batch = nil
}

// Forward implements sdk.Model.
func (m *dummy) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = nil
	if err := m.begin("dummy", b); err != nil {
		return tensor.Tensor{}, err
	}
	if err := nn.CheckBags(b, m.settings.NumEmbeddings); err != nil {
		return tensor.Tensor{}, err
	}
	if err := m.grow(b.Size()); err != nil {
		return tensor.Tensor{}, err
	}
	if err := m.bags.Send(b.Indices, b.Offsets); err != nil {
		return tensor.Tensor{}, err
	}
	x, q := m.embedded[:b.Size()*m.settings.EmbeddingDim], m.lane.Queue
	q.GatherBags(x, m.values[0].Data, m.settings.EmbeddingDim, m.bags.Indices, m.bags.Offsets, true)
	y, err := m.layers.forward(x)
	if err != nil {
		return tensor.Tensor{}, err
	}
	q.Softmax(y, m.settings.DenseOutputSize)
	m.batch, m.output.Data, m.output.Shape[0] = b, y, b.Size()
	return m.output, m.end(device.Forward)
}

// Evaluate implements sdk.EvaluatingModel. Evaluate does a Forward that is measured as an evaluation.
func (m *dummy) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	m.dev.Evaluate()
	return m.Forward(b)
}

// Backward implements sdk.Model. The host sorts the rows of the embedding's gradient while the device computes the
// layers' backward pass.
func (m *dummy) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	if err := m.beginBack("dummy", m.batch != nil, outputGradient, m.output); err != nil {
		return err
	}
	q := m.lane.Queue
	dy, dx := m.deltas[0][:len(m.output.Data)], m.deltas[1][:m.batch.Size()*m.settings.EmbeddingDim]
	q.SoftmaxGradient(dy, outputGradient.Data, m.output.Data, m.settings.DenseOutputSize)
	m.layers.backward(dy, dx, 1, emit)
	if err := m.embeddingGradient(dx); err != nil {
		return err
	}
	emit(0)
	return m.end(device.Backward)
}

func (m *dummy) embeddingGradient(dy []float32) error {
	rows, runs, err := m.bags.Sort(m.batch.Indices, m.batch.Offsets)
	if err != nil {
		return err
	}
	q, g, width := m.lane.Queue, m.gradients[0], m.settings.EmbeddingDim
	if !m.settings.Sparse {
		q.Clear(g.Values)
		q.ScatterBags(g.Values, dy, width, runs, m.bags.Offsets, true, true)
		return nil
	}
	if err := g.SetRows(len(rows)); err != nil {
		return err
	}
	copy(g.Rows, rows)
	q.ScatterBags(g.Values, dy, width, runs, m.bags.Offsets, true, false)
	return nil
}

// grow allocates memory for a batch of so many samples.
func (m *dummy) grow(samples int) (err error) {
	s := &m.settings
	if m.embedded, err = engine.Grow(m.dev, m.embedded, samples*s.EmbeddingDim); err != nil {
		return err
	}
	if m.deltas[0], err = engine.Grow(m.dev, m.deltas[0], samples*s.DenseOutputSize); err != nil {
		return err
	}
	if m.deltas[1], err = engine.Grow(m.dev, m.deltas[1], samples*s.EmbeddingDim); err != nil {
		return err
	}
	return m.layers.grow(samples)
}
