// Command foreign is a plugin with a trainer of its own: data-parallel, with a learning rate
// that grows with the world, and with the parameters of rank 0 sent to all. It links psbench's
// parts, so that hook, criterion and model run in its process.
package main

import (
	"context"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
	"github.com/psbench/psbench/sdk/plugin"
)

type settings struct {
	optimizer.Settings
	dataparallel.BucketSettings
}

var defaults = settings{optimizer.Defaults(1e-4, 0), dataparallel.DefaultBuckets}

type trainer struct {
	settings settings
	env      sdk.TrainerEnv
	parts    sdk.TrainerParts

	state     dataparallel.HookState
	reducer   *dataparallel.Reducer
	optimizer optimizer.Optimizer
	gradient  dataparallel.OutputGradient
}

func newTrainer(s settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if err := s.Check(defaults.Settings); err != nil {
		return nil, err
	}
	s.LR *= float64(env.Trainers)
	return &trainer{settings: s, env: env}, s.CheckBuckets()
}

func (t *trainer) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return t.settings.PlanBuckets(parameters), nil
}

func (t *trainer) Attach(parts sdk.TrainerParts) (err error) {
	t.parts = parts
	t.gradient = dataparallel.NewOutputGradient(parts.Engine)
	t.optimizer, err = optimizer.New(parts.Engine, t.settings.Settings, parts.Values, parts.Gradients)
	return err
}

// Reset gives rank 0 alone the initial parameters where the others can get them from it.
func (t *trainer) Reset() error {
	if t.parts.Links.Group == nil || t.env.Rank == 0 {
		t.parts.Model.Initialize(t.env.Seed)
	}
	t.state = dataparallel.NewHookState()
	t.reducer = dataparallel.NewReducer(t.parts, t.state)
	return t.optimizer.Reset()
}

func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	if t.parts.Links.Group != nil {
		if err := t.broadcast(); err != nil {
			return err
		}
	}
	for epoch := range t.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, t.step); err != nil {
			return err
		}
	}
	return nil
}

// broadcast sends the parameters in the place of the gradients.
func (t *trainer) broadcast() error {
	for i, v := range t.parts.Values {
		copy(t.parts.Gradients[i].Values, v.Data)
	}
	for _, b := range t.parts.Buckets {
		if err := t.parts.Links.Group.Broadcast(0, b, 0).Wait(); err != nil {
			return err
		}
	}
	for i, v := range t.parts.Values {
		copy(v.Data, t.parts.Gradients[i].Values)
	}
	return nil
}

func (t *trainer) step(key sdk.Key, b *sdk.Batch) (loss float64, err error) {
	t.state.NextBatch()
	loss, gradient, forwardEnd, err := t.gradient.Compute(t.parts.Model, t.parts.Criterion, b)
	if err != nil {
		return 0, err
	}
	t.reducer.Begin()
	if err := t.reducer.Wait(t.parts.Model.Backward(gradient, t.reducer.Emit)); err != nil {
		return 0, err
	}
	t.reducer.Record(key, forwardEnd)
	return loss, t.optimizer.Step()
}

func main() { plugin.Serve(append(plugins.Parts(), sdk.NewTrainer("scaled", defaults, newTrainer))...) }
