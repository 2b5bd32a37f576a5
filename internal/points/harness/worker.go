package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// planTrainer builds a trainer and lets it plan the buckets of its model.
func (w *world) planTrainer(r *Rank, p *process.Process) error {
	trainerEnv := sdk.TrainerEnv{
		Rank: r.Position, Name: p.Name(), Trainers: r.Size, Epochs: TrainedEpochs, Seed: 7, Maps: w.subject.InTrainer,
	}
	if server, ok := w.serverPart(); ok {
		trainerEnv.Server = server.Key
	}
	trainer, err := process.Build[sdk.Trainer](p, w.subject.choice(), trainerEnv)
	if err != nil {
		return err
	}
	r.Trainer = trainer
	modelEnv := sdk.ModelEnv{MaxBatch: MaxBatch, Threads: 1, Engine: engine.Host}
	if r.Model, err = hosted.NewModel(p, kit(toys.Matrix), modelEnv); err != nil {
		return err
	}
	r.inputs = r.Model.Inputs()
	switch planner, ok := trainer.(sdk.InputPlanner); {
	case ok:
		if r.inputs, err = planner.PlanInputs(r.inputs, w.lookup().Tables); err != nil {
			return err
		}
	case len(w.tables) > 0:
		return errors.New("it needs tables but is no sdk.InputPlanner")
	}
	specs := r.Model.Parameters()
	if r.plan, err = trainer.Plan(specs); err != nil {
		return err
	}
	return layout.CheckPlan(specs, r.plan)
}

// equipTrainer gives a trainer everything that it needs. The trainer's model, criterion and hook record their
// calls.
func (w *world) equipTrainer(r *Rank, p *process.Process, to peers) error {
	store, err := r.bind(p, r.plan)
	if err != nil {
		return err
	}
	hook := toys.Linked
	switch w.subject.Part.Needs {
	case sdk.ServiceParameters:
		hook = toys.Push
	case sdk.ServiceTables:
		hook = toys.Group
	}
	if r.Links, err = p.JoinLinks(to.links(hook.Links, r.Position), store); err != nil {
		return err
	}
	hookEnv := sdk.HookEnv{Trainers: r.Size, Buckets: r.plan, Seed: 7, Links: r.Links}
	if r.Hook, err = hosted.NewHook(p, kit(hook), hookEnv); err != nil {
		return err
	}
	criterionEnv := sdk.CriterionEnv{MaxBatch: MaxBatch, Engine: engine.Host}
	if r.Criterion, err = hosted.NewCriterion(p, kit(toys.Squares), criterionEnv); err != nil {
		return err
	}
	if len(w.tables) > 0 {
		if err := w.joinTables(r, p, to); err != nil {
			return err
		}
	}
	list := r.share()
	if preparing, ok := r.Trainer.(sdk.Preprocessor); ok {
		changed, err := preparing.Preprocess(slices.Clone(list))
		if err != nil {
			return err
		}
		if changed != nil {
			list = changed
		}
	}
	r.Batches = sdk.NewBatches(list)
	r.calls = &ledger{}
	parts := r.TrainerParts
	parts.Model, parts.Criterion, parts.Hook = r.calls.watch(r.Model.(sdk.FeatureModel), r.Criterion, r.Hook)
	if err := r.Trainer.Attach(parts); err != nil {
		return fmt.Errorf("Attach: %w", err) //nolint:staticcheck // the name of the method
	}
	return nil
}

// share returns the batches of a rank. No two ranks share a table row, because the order of their updates would
// change the last bits.
func (r *Rank) share() (list []sdk.Batch) {
	size := int64(r.Size)
	for i := range 3 {
		b := Batch(r.inputs, 4, 5*r.Position+i)
		for k, row := range b.Indices {
			b.Indices[k] = row/size*size + int64(r.Position)
		}
		list = append(list, *b)
	}
	return list
}
