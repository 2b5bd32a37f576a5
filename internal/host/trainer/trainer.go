// Package trainer implements the role of the process that trains a rank.
package trainer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Role hosts a trainer. Role also hosts the model, criterion and hook that live in the same
// process. Role calls all other parts through companions.
type Role struct {
	*process.Process
	config     Config
	trainer    sdk.Trainer
	model      sdk.Model // nil until Connect if it lives in a companion
	specs      []sdk.ParameterSpec
	inputs     sdk.InputSpec // input limits of the data
	parts      sdk.TrainerParts
	store      *comm.Store      // the buckets
	staged     []*tensor.Bucket // copies of the buckets in engine memory that Go cannot access; otherwise nil
	evaluation *evaluation      // nil without held-out samples
	batches    *counted         // the batches in parts
	copies     engine.Engine    // the process's engine, for copies that the host makes
	// training is held during a pass. After a failure, the core collects while the pass may still be
	// ending.
	training sync.Mutex
	ending   ending // how the pass ends

	mu     sync.Mutex // guards the progress of the running pass
	losses losses
	work   record.Work
	next   sdk.Key // iteration that Loss will report next
	found  inspect.NonFinite
}

// Config is the configuration of a trainer.
type Config struct {
	Local     []process.Choice    // choices of the hook, criterion and model in this process
	Maps      map[sdk.Kind]string // keys of the in-trainer kinds
	Trainers  int                 // number of trainers in the run
	Epochs    int                 // maximum number of epochs of a pass
	Seed      uint64
	Server    string // key of the run's server, or ""
	Model     sdk.ModelEnv
	Summarize bool // Collect also sends parameter summaries
	FailOnNaN bool // a non-finite loss or parameter ends the pass
	// ParametersBack says that the server answers with parameters instead of gradients.
	ParametersBack bool
	// HookAnswers is the result that the hook declares, if the run checks results.
	HookAnswers sdk.Answers
}

// local returns the choice of a part of this kind that the process holds. local returns false if
// the part lives in a companion.
func (c *Config) local(kind sdk.Kind) (process.Choice, bool) {
	i := slices.IndexFunc(c.Local, func(choice process.Choice) bool { return choice.Kind == kind })
	if i < 0 {
		return process.Choice{}, false
	}
	return c.Local[i], true
}

// New builds the trainer, and also its model if the process holds the model.
func New(proc *process.Process, c Config) (*Role, error) {
	r := &Role{Process: proc, config: c}
	for _, kind := range []sdk.Kind{sdk.KindModel, sdk.KindCriterion} {
		if _, ok := c.local(kind); !ok {
			if err := proc.NeedBeside(kind); err != nil {
				return nil, err
			}
		}
	}
	r.config.Model.Engine = proc.Engine
	var err error
	r.trainer, err = process.Build[sdk.Trainer](proc, proc.Part(), sdk.TrainerEnv{
		Rank: proc.Rank(), Name: proc.Name(), Trainers: c.Trainers, Epochs: c.Epochs, Seed: c.Seed, Server: c.Server,
		Maps: c.Maps,
	})
	if err != nil {
		return nil, err
	}
	if choice, ok := c.local(sdk.KindModel); ok {
		r.model, err = hosted.NewModel(proc, choice, r.config.Model)
	}
	return r, err
}

// DescribeModel returns the model's description for the core; nil if the model lives in a
// companion.
func (r *Role) DescribeModel() *layout.Model {
	if r.model == nil {
		return nil
	}
	return layout.Describe(r.model)
}

// Plan is the plan of a rank.
type Plan struct {
	Buckets []tensor.BucketSpec
	Inputs  sdk.InputSpec // input limits of the data
	Traffic sdk.Traffic   // of the hook, if the process holds it; nil if the hook plans nothing
}

// Plan divides the parameters of the run's model into buckets. The plan's inputs are the limits that
// the data must meet if servers hold these tables.
func (r *Role) Plan(model layout.Model, tables []comm.TableSpec) (plan Plan, err error) {
	r.specs = model.Parameters
	for k := range r.specs {
		if err := layout.CheckShape(&r.specs[k]); err != nil {
			return plan, err
		}
	}
	if r.inputs, err = r.planInputs(model.Inputs, tables); err != nil {
		return plan, err
	}
	r.inputs.Targets = max(1, r.inputs.Targets)
	plan.Inputs = r.inputs
	if plan.Buckets, err = r.trainer.Plan(r.specs); err != nil {
		return plan, fault.Of(r.Title(), "Plan", err)
	}
	if err = layout.CheckPlan(r.specs, plan.Buckets); err != nil {
		return plan, err
	}
	if hook, ok := r.config.local(sdk.KindHook); ok {
		plan.Traffic, err = r.PlanTraffic(hook, sdk.TrafficEnv{Trainers: r.config.Trainers, Buckets: plan.Buckets})
	}
	return plan, err
}

// planInputs returns the input limits of the data. The data has the model's own limits, unless the
// trainer looks up the model's inputs in tables.
func (r *Role) planInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	planner, ok := r.trainer.(sdk.InputPlanner)
	key := r.Part().Key
	switch {
	case !ok && model.LookedUp > 0:
		return model,
			fmt.Errorf("the model takes %d features that are rows of tables, but trainer %s does not look anything up",
				model.LookedUp, key)
	case ok && len(tables) == 0:
		return model, fmt.Errorf("trainer %s looks up tables, but the run has no servers that hold any", key)
	case !ok && len(tables) > 0:
		return model, fmt.Errorf("trainer %s does not look anything up, but the run's servers hold %d tables", key,
			len(tables))
	case !ok:
		return model, nil
	}
	inputs, err := planner.PlanInputs(model, tables)
	return inputs, fault.Of(r.Title(), "PlanInputs", err)
}

// Peers are the processes that a trainer connects to.
type Peers struct {
	Buckets      []tensor.BucketSpec
	Model        layout.Model
	Source       batches.Source
	Hook         process.HookLinks // set if the process holds the hook
	Companions   map[sdk.Kind]process.Peer
	Lookup       *comm.LookupSpec // nil unless servers hold tables
	TableServers []process.Peer
}

// Joined is the result of connecting to the peers.
type Joined struct {
	BoundaryNS map[sdk.Kind]int64 // median round trip, in ns, of a no-op call to each companion
	Facts      map[string]string  // facts of all parts of the rank in this process
}

// Connect connects to the trainer's peers, fetches its batches and attaches the trainer to its
// parts.
func (r *Role) Connect(peers Peers) (*Joined, error) {
	joined := &Joined{BoundaryNS: map[sdk.Kind]int64{}, Facts: map[string]string{}}
	p := &r.parts
	p.Recorder, p.Engine = r.Recorder, r.Engine
	r.copies = r.WatchedEngine()
	p.WaitCopy = r.copies.Wait
	var err error
	if p.Gradients, r.store, err = layout.New(r.specs, peers.Buckets, r.newStore(peers.Companions)); err != nil {
		return nil, err
	}
	r.OwnMemory(r.store)
	p.Buckets = r.store.Buckets
	if err := r.adopt(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name(), err)
	}
	share, err := batches.Fetch(r.Process, r.trainer, r.inputs, peers.Source)
	if err != nil {
		return nil, err
	}
	r.batches = &counted{Batches: share.Batches}
	p.Batches = r.batches
	r.evaluation = newEvaluation(r.Name(), r.copies, share.HeldOut, peers.Model.Inputs, r.Recorder)
	p.Evaluation = sdk.NewEvaluation(r.evaluate)
	beside := &companions{
		role: r, peers: peers.Companions,
		calls:      companion.CallMemory(share.Sizes, peers.Model.Inputs, peers.Source.Share.TargetWidth),
		boundaryNS: joined.BoundaryNS,
	}
	if err := r.connectModel(&peers.Model, beside); err != nil {
		return nil, err
	}
	if err := r.connectCriterion(beside); err != nil {
		return nil, err
	}
	if err := r.connectHook(peers.Hook, beside, joined.Facts); err != nil {
		return nil, err
	}
	if p.Tables, err = r.JoinTables(peers.Lookup, peers.TableServers); err != nil {
		return nil, err
	}
	for _, part := range []any{r.Engine, r.trainer, p.Model, p.Criterion, p.Hook} {
		process.Facts(joined.Facts, part)
	}
	attached := *p
	attached.Hook = r.Keeper.Hook(p.Hook, r.config.HookAnswers, r.store.Specs())
	return joined, fault.Of(r.Title(), "Attach", r.trainer.Attach(attached))
}
