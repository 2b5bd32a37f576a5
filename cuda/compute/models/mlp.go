//go:build nvidia

package models

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// mlp implements the model mlp of plugins/models: layers over the features of the samples.
type mlp struct {
	base
	settings    models.MLPSettings
	firstTensor int
	layers      *layers
	features    *device.Transfer[float32]
	back        *device.Transfer[float32] // gradient of the features, for the host

	rows   int // rows of the last Forward; 0 before the first Forward
	output tensor.Tensor
	delta  []float32 // gradient of the layers' output, if that is not the model's output
	input  []float32 // gradient of the features
}

var _ sdk.FeatureModel = (*mlp)(nil)

// NewMLP builds the model from the settings of plugins/models. The setting blas must be auto.
func NewMLP(s models.MLPSettings, env sdk.ModelEnv) (sdk.Model, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b, err := newBase(env, s.BLAS)
	if err != nil {
		return nil, err
	}
	m := &mlp{base: b, settings: s, firstTensor: env.FirstTensor,
		output: tensor.Tensor{Shape: []int{0, s.Sizes[len(s.Sizes)-1]}}}
	m.layers = newLayers(&m.base, s.Sizes, s.ReLU)
	if m.features, err = device.NewTransfer[float32](m.dev, m.lane); err != nil {
		return nil, err
	}
	m.back, err = device.NewTransfer[float32](m.dev, m.lane)
	return m, err
}

func (m *mlp) Parameters() []sdk.ParameterSpec { return m.settings.Parameters() }
func (m *mlp) Inputs() sdk.InputSpec           { return m.settings.Inputs() }

// Bind implements sdk.Model.
func (m *mlp) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	if err := m.bind(m.Parameters(), values, gradients); err != nil {
		return err
	}
	m.layers.bind(values, gradients)
	return nil
}

// Initialize implements sdk.Model.
func (m *mlp) Initialize(seed uint64) {
	m.initialize(func(k int, values []float32) { m.settings.Draw(seed, m.firstTensor, k, values) })
	m.rows = 0
}

// Forward implements sdk.Model.
func (m *mlp) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.rows = 0
	if err := m.begin("mlp", b); err != nil {
		return tensor.Tensor{}, err
	}
	if err := checkFeatures(b, m.settings.Sizes[0]); err != nil {
		return tensor.Tensor{}, err
	}
	x, err := m.features.Put(b.Features)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if m.output.Data, err = m.layers.forward(x); err != nil {
		return tensor.Tensor{}, err
	}
	m.rows, m.output.Shape[0] = b.Size(), b.Size()
	if m.settings.Output == models.LogSoftmax {
		m.lane.Queue.LogSoftmax(m.output.Data, m.output.Shape[1])
	}
	return m.output, m.end(device.Forward)
}

// Evaluate implements sdk.EvaluatingModel. Evaluate does a Forward that is measured as an evaluation.
func (m *mlp) Evaluate(b *sdk.Batch) (tensor.Tensor, error) {
	m.dev.Evaluate()
	return m.Forward(b)
}

// Backward implements sdk.Model.
func (m *mlp) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	return m.backward(outputGradient, nil, emit)
}

// BackwardInput implements sdk.FeatureModel. BackwardInput waits for the gradient of the features.
func (m *mlp) BackwardInput(outputGradient tensor.Tensor, inputGradient []float32,
	emit func(parameter int)) (err error) {
	if err := checkInputGradient(inputGradient, m.rows, m.settings.Sizes[0]); err != nil {
		return err
	}
	if m.input, err = engine.Grow(m.dev, m.input, len(inputGradient)); err != nil {
		return err
	}
	if err := m.backward(outputGradient, m.input, emit); err != nil {
		return err
	}
	fetched, err := m.back.Fetch(m.input)
	copy(inputGradient, fetched)
	return err
}

// backward overwrites dx on the device, unless dx is nil.
func (m *mlp) backward(outputGradient tensor.Tensor, dx []float32, emit func(parameter int)) (err error) {
	if err := m.beginBack("mlp", m.rows > 0, outputGradient, m.output); err != nil {
		return err
	}
	dy, q := outputGradient.Data, m.lane.Queue
	if m.settings.Output == models.LogSoftmax {
		if m.delta, err = engine.Grow(m.dev, m.delta, len(dy)); err != nil {
			return err
		}
		q.LogSoftmaxGradient(m.delta, dy, m.output.Data, m.output.Shape[1])
		dy = m.delta
	}
	m.layers.backward(dy, dx, 0, emit)
	return m.end(device.Backward)
}
