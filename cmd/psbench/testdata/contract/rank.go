package main

import (
	"context"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

type trainerSettings struct {
	optimizer.Settings
	dataparallel.BucketSettings
}

var trainerDefaults = trainerSettings{optimizer.Defaults(1e-4, 0), dataparallel.DefaultBuckets}

// trainer trains as psbench's ddp.
type trainer struct {
	trainerSettings
	env       sdk.TrainerEnv
	parts     sdk.TrainerParts
	state     dataparallel.HookState
	reducer   *dataparallel.Reducer
	optimizer optimizer.Optimizer
	gradient  dataparallel.OutputGradient
	whole     *sdk.Series
}

func newTrainer(s trainerSettings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if err := s.Check(trainerDefaults.Settings); err != nil {
		return nil, err
	}
	return &trainer{trainerSettings: s, env: env}, s.CheckBuckets()
}

func (t *trainer) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return t.PlanBuckets(parameters), nil
}

func (t *trainer) Attach(parts sdk.TrainerParts) (err error) {
	t.parts = parts
	t.gradient = dataparallel.NewOutputGradient(parts.Engine)
	t.whole = parts.Recorder.Series("batch_level_metric", "batch_all")
	t.optimizer, err = optimizer.New(parts.Engine, t.Settings, parts.Values, parts.Gradients)
	return err
}

func (t *trainer) Reset() error {
	t.parts.Model.Initialize(t.env.Seed)
	t.state = dataparallel.NewHookState()
	t.reducer = dataparallel.NewReducer(t.parts, t.state)
	return t.optimizer.Reset()
}

func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range t.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, t.step); err != nil {
			return err
		}
		if err := t.parts.Evaluation.Run(ctx, epoch, t.parts.Model.Forward, t.parts.Criterion); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) step(key sdk.Key, b *sdk.Batch) (loss float64, err error) {
	t.state.NextBatch()
	start := comm.Now()
	loss, gradient, _, err := t.gradient.Compute(t.parts.Model, t.parts.Criterion, b)
	if err != nil {
		return 0, err
	}
	t.reducer.Begin()
	if err := t.reducer.Wait(t.parts.Model.Backward(gradient, t.reducer.Emit)); err != nil {
		return 0, err
	}
	err = t.optimizer.Step()
	t.whole.Record(key, start, comm.Now())
	return loss, err
}

type criterionSettings struct {
	Scale float64 `json:"scale" doc:"what the squared distance is multiplied with"`
}

var criterionDefaults = criterionSettings{0.5}

// criterion is the scaled mean of squared distances from the targets' numbers.
type criterion struct {
	scale   float64
	output  tensor.Tensor
	targets []int64
}

func newCriterion(s criterionSettings, _ sdk.CriterionEnv) (sdk.Criterion, error) {
	return &criterion{scale: s.Scale}, nil
}

func (c *criterion) distance(i int) float64 {
	return float64(c.output.Data[i]) - float64(c.targets[i/c.output.Shape[1]])
}

func (c *criterion) Forward(output tensor.Tensor, targets []int64) (loss float64, err error) {
	c.output, c.targets = output, targets
	for i := range output.Data {
		loss += c.distance(i) * c.distance(i)
	}
	return c.scale * loss / float64(len(output.Data)), nil
}

func (c *criterion) Backward(outputGradient tensor.Tensor) error {
	for i := range c.output.Data {
		outputGradient.Data[i] = float32(2 * c.scale * c.distance(i) / float64(len(c.output.Data)))
	}
	return nil
}

type modelSettings struct {
	Rows    int `json:"rows" doc:"indices are at least 0 and below this"`
	Classes int `json:"classes" doc:"columns of the output"`
}

var modelDefaults = modelSettings{50, 20}

// model sums a row of its one parameter for each index.
type model struct {
	modelSettings
	weight   []float32
	gradient *tensor.Gradient
	batch    *sdk.Batch
	output   []float32
}

func newModel(s modelSettings, _ sdk.ModelEnv) (sdk.Model, error) {
	return &model{modelSettings: s}, nil
}

func (m *model) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{m.Rows, m.Classes}}}
}

func (m *model) Inputs() sdk.InputSpec { return sdk.InputSpec{Rows: m.Rows, Classes: m.Classes} }

func (m *model) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.weight, m.gradient = values[0].Data, gradients[0]
	return nil
}

func (m *model) Initialize(seed uint64) {
	for i := range m.weight {
		m.weight[i] = float32((uint64(i)+seed)%11)/11 - 0.5
	}
}

func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	n := b.Size() * m.Classes
	if n > len(m.output) {
		m.output = make([]float32, n)
	}
	m.batch = b
	for i := range b.Size() {
		vec.GatherSum(m.output[i*m.Classes:(i+1)*m.Classes], m.weight, m.Classes, b.Bag(i))
	}
	return tensor.Tensor{Shape: []int{b.Size(), m.Classes}, Data: m.output[:n]}, nil
}

func (m *model) Backward(outputGradient tensor.Tensor, emit func(parameter int)) error {
	clear(m.gradient.Values)
	for i := range m.batch.Size() {
		for _, row := range m.batch.Bag(i) {
			at := int(row) * m.Classes
			vec.Add(m.gradient.Values[at:at+m.Classes], outputGradient.Data[i*m.Classes:(i+1)*m.Classes])
		}
	}
	emit(0)
	return nil
}

type dataSettings struct {
	Samples int `json:"samples" doc:"samples that are trained on"`
}

var dataDefaults = dataSettings{40}

// data has bags of two indices.
type data struct{ samples int }

func newData(s dataSettings, _ sdk.DataEnv) (sdk.Data, error) { return data{s.Samples}, nil }

func (d data) Load() (*sdk.Samples, error) {
	samples := &sdk.Samples{}
	for i := range int64(d.samples) {
		samples.Append([]int64{i % 50, 3 * i % 50}, i%20)
	}
	return samples, nil
}
