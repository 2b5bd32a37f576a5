// Package hybrid is the trainer of the hybrid benchmark. The embeddings are tables on servers, and each trainer
// applies its gradients there asynchronously. The layers above are a data-parallel replica, as in package
// dataparallel.
package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Settings of the trainer.
type Settings struct {
	// Settings choose the optimizer of the dense layers; table servers have their own optimizer.
	optimizer.Settings
	Lookup string `json:"lookup" doc:"parallel: asks all servers at once; serial: one after the other, as the original does"`
	dataparallel.BucketSettings
}

// Defaults use PyTorch's bucket size and the original's learning rate.
var Defaults = Settings{Settings: optimizer.Defaults(0.05, 0), Lookup: "parallel",
	BucketSettings: dataparallel.DefaultBuckets}

// Parts lists the trainer.
func Parts() []sdk.Part { return []sdk.Part{sdk.NewTableTrainer("hybrid", Defaults, New)} }

// trainer implements sdk.Trainer and sdk.InputPlanner.
type trainer struct {
	settings  Settings
	env       sdk.TrainerEnv
	iteration iteration
	parts     sdk.TrainerParts
	epoch     *sdk.Series
}

var _ sdk.InputPlanner = (*trainer)(nil)

// New returns the trainer of one rank.
func New(s Settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	if err := s.Check(Defaults.Settings); err != nil {
		return nil, err
	}
	if s.Lookup != "parallel" && s.Lookup != "serial" {
		return nil, fmt.Errorf("lookup is %s but must be parallel or serial", quote.String(s.Lookup))
	}
	if err := s.CheckBuckets(); err != nil {
		return nil, err
	}
	return &trainer{settings: s, env: env}, nil
}

// PlanInputs implements sdk.InputPlanner. If the model takes only numbers, PlanInputs cuts the joined columns of a
// bag into rows of features, each with its own target. If the model takes rows of several tables, every server
// holds its columns of all tables, one table after the other.
func (t *trainer) PlanInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	switch {
	case model.LookedUp > 0:
	case len(model.Tables) > 0:
		return sdk.InputSpec{},
			fmt.Errorf("the model looks rows up in %d tables of its own but the hybrid trainer does that, on the servers: the model must take the rows, as dlrm does with tables=servers",
				len(model.Tables))
	case model.Features < 1 || model.Rows > 0:
		return sdk.InputSpec{},
			fmt.Errorf("the model takes %d numbers and indices into %d rows but the hybrid trainer needs one that takes numbers alone, as mlp does: the indices go to the servers",
				model.Features, model.Rows)
	}
	if len(tables) == 0 {
		return sdk.InputSpec{}, errors.New("the hybrid trainer needs at least one server with a table")
	}
	lookup := comm.LookupSpec{Tables: tables}
	columns, rows := lookup.Columns(), tables[0].Rows
	for _, table := range tables {
		rows = min(rows, table.Rows)
	}
	if model.LookedUp > 0 {
		return planRows(model, tables, columns, rows)
	}
	if columns < 1 || columns%model.Features != 0 {
		return sdk.InputSpec{},
			fmt.Errorf("%s, which must be a multiple of the model's %d inputs: change the width of the tables, the count of servers or the model",
				describe(tables, columns), model.Features)
	}
	return sdk.InputSpec{Rows: rows, Classes: model.Classes, Targets: columns / model.Features, Outputs: model.Outputs},
		nil
}

// planRows does the work of PlanInputs for a model that takes rows of several tables. All servers together have the
// given number of columns, and each has at least the given number of rows.
func planRows(model sdk.InputSpec, tables []comm.TableSpec, columns, rows int) (sdk.InputSpec, error) {
	n := len(model.Tables)
	if n == 0 || model.LookedUp%n != 0 || model.LookedUp > model.Features {
		return sdk.InputSpec{},
			fmt.Errorf("of the model's %d features %d are rows of %d tables, but each table must have the same number of them",
				model.Features, model.LookedUp, n)
	}
	if width := model.LookedUp / n; columns != width {
		right := fmt.Sprintf("choose a count of servers that divides %d", width)
		if width%len(tables) == 0 {
			right = fmt.Sprintf("give each server %d columns", width/len(tables))
		}
		return sdk.InputSpec{}, fmt.Errorf("%s but a row of the model's tables has %d: %s", describe(tables, columns),
			width, right)
	}
	total := 0
	for _, t := range model.Tables {
		total += t
	}
	if rows < total {
		return sdk.InputSpec{},
			fmt.Errorf(
				"a server has a table of %d rows but the model's %d tables have %d together: give every server that many",
				rows, n, total)
	}
	return sdk.InputSpec{Tables: model.Tables, Features: model.Features - model.LookedUp, Classes: model.Classes,
		Targets: model.Targets, Outputs: model.Outputs}, nil
}

// describe returns a text with the number of columns of the tables.
func describe(tables []comm.TableSpec, columns int) string {
	for _, table := range tables {
		if table.Width != tables[0].Width {
			return fmt.Sprintf("the tables of %d servers have %d columns", len(tables), columns)
		}
	}
	return fmt.Sprintf("%d servers x %d columns are %d", len(tables), tables[0].Width, columns)
}

// Plan implements sdk.Trainer.
func (t *trainer) Plan(specs []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return t.settings.PlanBuckets(specs), nil
}

// Attach implements sdk.Trainer.
func (t *trainer) Attach(parts sdk.TrainerParts) error {
	if parts.Tables == nil {
		return errors.New(
			"the hybrid trainer needs tables but the run has none: the registry must list it as needing tables")
	}
	model, ok := parts.Model.(sdk.FeatureModel)
	if !ok {
		return errors.New("the hybrid trainer needs a model that gives the gradient of its features, as mlp does")
	}
	t.parts = parts
	t.epoch = parts.Recorder.Series("epoch_metric", "epoch")
	var err error
	t.iteration, err = newIteration(t.settings, parts, model)
	return err
}

// Reset implements sdk.Trainer: it restores the initial parameters and creates a new hook state. The servers reset
// their tables themselves.
func (t *trainer) Reset() error {
	return t.iteration.reset(t.env.Seed)
}

// Train implements sdk.Trainer.
func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range t.env.Epochs {
		start := comm.Now()
		if err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, t.iteration.step); err != nil {
			return err
		}
		if t.iteration.endsEpoch() {
			t.epoch.Record(sdk.Key{A: int64(epoch)}, start, comm.Now())
		}
		if err := t.parts.Evaluation.Run(ctx, epoch, t.iteration.forwardAlone, t.parts.Criterion); err != nil {
			return err
		}
	}
	return nil
}
