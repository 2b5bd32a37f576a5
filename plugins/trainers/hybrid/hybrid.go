// Package hybrid is the trainer of the hybrid benchmark: the embeddings are tables on
// servers, each trainer applies its gradients there as they come, and the layers above
// are a data-parallel replica, as in package ddp.
package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/sdk"
)

// Settings of the trainer.
type Settings struct {
	LR          float64 `json:"lr" doc:"learning rate of SGD on the trainer; the servers have their own"`
	Lookup      string  `json:"lookup" doc:"parallel: asks all servers at once; serial: one after the other, as the original does"`
	BucketBytes int     `json:"bucket_bytes" doc:"bytes at which a bucket closes; the first one closes at 1 MiB at the latest"`
}

// Defaults are PyTorch's bucket size and the original's learning rate.
var Defaults = Settings{LR: 0.05, Lookup: "parallel", BucketBytes: 25 << 20}

// Parts lists the trainer.
func Parts() []sdk.Part { return []sdk.Part{sdk.NewTrainer("hybrid", Defaults, New)} }

// trainer implements sdk.Trainer and sdk.InputPlanner.
type trainer struct {
	settings  Settings
	env       sdk.TrainerEnv
	iteration iteration
	batches   []sdk.Batch
	epoch     *sdk.Series
}

var _ sdk.InputPlanner = (*trainer)(nil)

// New makes the trainer of one rank.
func New(s Settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if s.LR <= 0 {
		return nil, fmt.Errorf("lr is %v but must be above 0", s.LR)
	}
	if s.Lookup != "parallel" && s.Lookup != "serial" {
		return nil, fmt.Errorf("lookup is %q but must be parallel or serial", s.Lookup)
	}
	if s.BucketBytes <= 0 {
		return nil, fmt.Errorf("bucket_bytes is %d but must be above 0", s.BucketBytes)
	}
	return &trainer{settings: s, env: env}, nil
}

// PlanInputs implements sdk.InputPlanner: the joined columns of a bag are cut into rows
// of the model's features, each of which has a target of its own.
func (t *trainer) PlanInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	if model.Features < 1 || model.Rows > 0 {
		return sdk.InputSpec{}, fmt.Errorf("the model takes %d numbers and indices into %d rows but the hybrid trainer needs one that takes numbers alone, as mlp does: the indices go to the servers",
			model.Features, model.Rows)
	}
	if len(tables) == 0 {
		return sdk.InputSpec{}, errors.New("the hybrid trainer needs at least one server with a table")
	}
	lookup := comm.LookupSpec{Tables: tables}
	columns := lookup.Columns()
	if columns < 1 || columns%model.Features != 0 {
		return sdk.InputSpec{}, fmt.Errorf("%s, which must be a multiple of the model's %d inputs: change the width of the tables, the count of servers or the model",
			describe(tables, columns), model.Features)
	}
	rows := tables[0].Rows
	for _, table := range tables {
		rows = min(rows, table.Rows)
	}
	return sdk.InputSpec{Rows: rows, Classes: model.Classes, Targets: columns / model.Features}, nil
}

// describe says how many columns the tables have.
func describe(tables []comm.TableSpec, columns int) string {
	for _, table := range tables {
		if table.Width != tables[0].Width {
			return fmt.Sprintf("the tables of %d servers have %d columns", len(tables), columns)
		}
	}
	return fmt.Sprintf("%d servers x %d columns are %d", len(tables), tables[0].Width, columns)
}

// Plan implements sdk.Trainer.
func (t *trainer) Plan(specs []sdk.ParameterSpec) ([]comm.BucketSpec, error) {
	return ddp.Buckets(specs, t.settings.BucketBytes), nil
}

// Attach implements sdk.Trainer.
func (t *trainer) Attach(parts sdk.TrainerParts) error {
	if parts.Tables == nil {
		return errors.New("the hybrid trainer needs tables but the run has none: the registry must list it as needing tables")
	}
	model, ok := parts.Model.(sdk.FeatureModel)
	if !ok {
		return errors.New("the hybrid trainer needs a model that gives the gradient of its features, as mlp does")
	}
	t.batches = parts.Batches
	t.epoch = parts.Recorder.Series("epoch_metric", "epoch")
	t.iteration = newIteration(t.settings, parts, model)
	return nil
}

// Reset implements sdk.Trainer: the initial parameters and a new hook state. The servers
// reset their tables themselves.
func (t *trainer) Reset() error {
	t.iteration.reset(t.env.Seed)
	return nil
}

// Train implements sdk.Trainer.
func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range t.env.Epochs {
		start := comm.Now()
		if err := ddp.RunEpoch(ctx, t.env.Name, epoch, t.batches, report, t.iteration.step); err != nil {
			return err
		}
		t.epoch.Record(sdk.Key{A: int64(epoch)}, start, comm.Now())
	}
	return nil
}
