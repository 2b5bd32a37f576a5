package main

import (
	"context"
	"errors"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

// localSGD is a trainer that steps with its own gradients. After each iteration it averages the parameters over its
// hook's links, in turns, as docs/plugins/trainer.md describes.
type localSGD struct {
	localSettings
	env       sdk.TrainerEnv
	parts     sdk.TrainerParts
	optimizer optimizer.Optimizer
	gradient  dataparallel.OutputGradient
	batch     int64
}

type localSettings struct {
	LR float64 `json:"lr" doc:"the learning rate"`
}

func newLocalSGD(s localSettings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	return &localSGD{localSettings: s, env: env}, nil
}

func (t *localSGD) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return dataparallel.DefaultBuckets.PlanBuckets(parameters), nil
}

func (t *localSGD) Attach(parts sdk.TrainerParts) (err error) {
	if parts.Links.Group == nil || parts.Links.Server == nil {
		return errors.New("the hook has not both links")
	}
	t.parts, t.gradient = parts, dataparallel.NewOutputGradient(parts.Engine)
	t.optimizer, err = optimizer.New(parts.Engine, optimizer.Defaults(t.LR, 0), parts.Values, parts.Gradients)
	return err
}

func (t *localSGD) Reset() error {
	t.parts.Model.Initialize(t.env.Seed)
	t.batch = 0
	return t.optimizer.Reset()
}

func (t *localSGD) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range t.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, t.step); err != nil {
			return err
		}
	}
	return nil
}

func (t *localSGD) step(_ sdk.Key, b *sdk.Batch) (float64, error) {
	loss, gradient, _, err := t.gradient.Compute(t.parts.Model, t.parts.Criterion, b)
	if err != nil {
		return 0, err
	}
	if err := t.parts.Model.Backward(gradient, func(int) {}); err != nil {
		return 0, err
	}
	if err := t.optimizer.Step(); err != nil {
		return 0, err
	}
	for k, v := range t.parts.Values { // gradients are used by now, so their buckets' memory is free for parameters
		copy(t.parts.Gradients[k].Values, v.Data)
	}
	for _, bucket := range t.parts.Buckets {
		if err := t.average(bucket).Wait(); err != nil {
			return 0, err
		}
	}
	t.batch++
	for k, v := range t.parts.Values {
		copy(v.Data, t.parts.Gradients[k].Values)
	}
	return loss, nil
}

func (t *localSGD) average(b *tensor.Bucket) *comm.Future {
	if t.batch%2 == 1 {
		return t.parts.Links.Server.PushPull(t.batch, b)
	}
	return t.parts.Links.Group.Average(t.batch, b)
}
