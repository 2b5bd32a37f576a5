// Package ddp is the data-parallel trainer. Every rank holds a replica of the model. A hook reduces the gradients
// bucket by bucket while backward runs.
//
// The package also has the original's four in-trainer maps. These maps choose how the model is wrapped (ddp_model),
// which progress the hook sees (hook_state), the steps of an iteration (iteration_step), and how batches are
// prepared before training (preprocess_data).
package ddp

import (
	"context"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Settings of the trainer.
type Settings struct {
	optimizer.Settings
	dataparallel.BucketSettings
}

// Defaults use PyTorch's bucket size and the original's learning rate.
var Defaults = Settings{Settings: optimizer.Defaults(1e-4, 0), BucketSettings: dataparallel.DefaultBuckets}

// Parts lists the trainer and its in-trainer keys.
func Parts() []sdk.Part {
	parts := []sdk.Part{sdk.NewTrainer("ddp", Defaults, New)}
	parts = append(parts, keys(sdk.KindDDPModel, ddpModels)...)
	parts = append(parts, keys(sdk.KindHookState, hookStates)...)
	parts = append(parts, keys(sdk.KindIterationStep, iterationSteps)...)
	return append(parts, keys(sdk.KindPreprocessData, preprocessors)...)
}

// trainer implements sdk.Trainer.
type trainer struct {
	settings Settings
	env      sdk.TrainerEnv
	parts    sdk.TrainerParts

	newModel   newDDPModel
	newState   newHookState
	step       iterationStep
	preprocess preprocessData

	iteration iteration
}

// New returns the trainer of one rank.
func New(s Settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if err := s.Check(Defaults.Settings); err != nil {
		return nil, err
	}
	if err := s.CheckBuckets(); err != nil {
		return nil, err
	}
	t := &trainer{settings: s, env: env}
	var err error
	if t.newModel, err = choose(sdk.KindDDPModel, ddpModels, env); err != nil {
		return nil, err
	}
	if t.newState, err = choose(sdk.KindHookState, hookStates, env); err != nil {
		return nil, err
	}
	if t.step, err = choose(sdk.KindIterationStep, iterationSteps, env); err != nil {
		return nil, err
	}
	t.preprocess, err = choose(sdk.KindPreprocessData, preprocessors, env)
	return t, err
}

// Plan implements sdk.Trainer.
func (t *trainer) Plan(specs []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return t.settings.PlanBuckets(specs), nil
}

var _ sdk.Preprocessor = (*trainer)(nil)

// Preprocess implements sdk.Preprocessor.
func (t *trainer) Preprocess(batches []sdk.Batch) ([]sdk.Batch, error) {
	return t.preprocess(t.env.Rank, batches)
}

// Attach implements sdk.Trainer.
func (t *trainer) Attach(parts sdk.TrainerParts) error {
	t.parts = parts
	var err error
	t.iteration, err = newIteration(t)
	return err
}

// Reset implements sdk.Trainer: it restores the initial parameters and creates a new model wrapper and a new hook
// state. The original also builds these for each pass.
func (t *trainer) Reset() error {
	t.parts.Model.Initialize(t.env.Seed)
	t.iteration.state = t.newState()
	t.iteration.model = t.newModel(t.parts, t.iteration.state)
	return t.iteration.optimizer.Reset()
}

// Train implements sdk.Trainer.
func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	step := func(key sdk.Key, b *sdk.Batch) (float64, error) {
		return t.step(&t.iteration, key, b)
	}
	for epoch := range t.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, step); err != nil {
			return err
		}
		if err := t.parts.Evaluation.Run(ctx, epoch, sdk.Evaluator(t.parts.Model), t.parts.Criterion); err != nil {
			return err
		}
	}
	return nil
}
