package sdk

import (
	"context"
	"errors"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Trainer runs the training of one rank. Order of calls: Plan and Attach once,
// then Reset and Train once per pass.
type Trainer interface {
	// Plan groups the model's parameters into buckets. It must return the same
	// buckets on every rank. It leaves Capacity 0, since that depends on the data:
	// TrainerParts.Buckets have it.
	Plan(parameters []ParameterSpec) ([]tensor.BucketSpec, error)
	// Attach hands over the parts of the rank, all connected and ready.
	Attach(parts TrainerParts) error
	// Reset returns to the initial parameters and a fresh state.
	Reset() error
	// Train runs one pass. psbench resets all trainers and then starts them together. Train
	// must check ctx before each iteration and return an error once ctx has ended. The cause of
	// ctx is ErrPassOver if the pass has all its iterations.
	Train(ctx context.Context, report PassReport) error
}

// TrainerParts are the live objects of one rank. The parts may run in other
// processes, but the trainer uses them in the same way.
type TrainerParts struct {
	Model     Model
	Criterion Criterion
	Hook      Hook
	// Engine owns the memory that the rank computes in.
	Engine engine.Engine
	// WaitCopy is Engine.Wait with the run's timeout: a copy that takes longer ends the run. It
	// allocates nothing. nil, as in a test, stands for Engine.Wait.
	WaitCopy func(engine.Ticket) error
	// Values are the parameters in registration order, Gradients their gradients, both in
	// the memory of Engine. Buckets are the buckets of Plan, with their capacities. The hook
	// reduces them in ordinary memory. If the engine is addressable, gradients are views into
	// them. Otherwise the trainer copies gradients to the buckets and back, as a
	// dataparallel.Reducer does.
	Values    []tensor.Tensor
	Gradients []*tensor.Gradient
	Buckets   []*tensor.Bucket
	// AwaitShared is not nil if ranks of one device share buckets in its memory. Gradients are then
	// views into Buckets, which lie there. The trainer calls AwaitShared once the futures of all
	// buckets are done: the engine's later work then waits for the reduced gradients.
	AwaitShared func() error
	// Step is not nil if the model is a SteppingModel: it steps the parameters instead of the
	// trainer's optimizer. dataparallel.NewOptimizer chooses between the two.
	Step func() error
	// Batches is this rank's share of one epoch.
	Batches Batches
	// Evaluation is run at the end of every epoch; its methods may be called on nil.
	Evaluation *Evaluation
	Recorder   *Recorder
	// Links are the links of Hook, for communication of the trainer itself. It must use them from
	// one goroutine of its own, in the same order on all ranks. They are nil if the hook has a
	// process of its own.
	Links Links
	// Tables are the embedding tables of the run's servers; nil unless the trainer
	// needs tables.
	Tables *Tables
}

// InputPlanner is implemented by trainers that turn batches into the model's input first: they
// look up features in tables.
type InputPlanner interface {
	// PlanInputs returns the limits of the data. It gets the limits of the model and the tables
	// of the servers, in order of the servers. It returns an error if the parts do not fit
	// together. It is called once, before Plan.
	PlanInputs(model InputSpec, tables []comm.TableSpec) (InputSpec, error)
}

// Preprocessor is implemented by trainers that change their batches before they train on
// them, outside of the time that is measured.
type Preprocessor interface {
	// Preprocess returns the batches to train on in place of batches, or nil to keep them. It must
	// not write to batches. It must return equally many, with equally many samples each. It is
	// called before Attach, once with the rank's whole share and once with its held-out batches.
	// The host copies the result to read-only memory.
	//
	// Streamed data cannot be kept. Preprocess then gets each batch alone, in every epoch, when
	// the host reads the batch ahead. It runs on a goroutine beside the trainer's, so an iteration
	// waits only if reading and preprocessing are slower than training. No list in the result may
	// be longer than the same list of the largest batch.
	Preprocess(batches []Batch) ([]Batch, error)
}

// PassReport receives the progress of a pass. Its methods are cheap and do not block, with one
// exception: near the end of a pass of a given time, Loss may wait until the last iteration is
// decided.
type PassReport interface {
	// Epoch reports that the epoch (from 0) begins.
	Epoch(epoch int)
	// Loss reports the loss of the iteration that ended last. If it is not finite, psbench
	// inspects parameters and gradients, so nothing may change them meanwhile. After the last
	// iteration of the pass, the context of Train has ended when Loss returns.
	Loss(loss float64)
}

// ErrPassOver is the cause of Train's context when the pass has all its iterations. The pass may
// end within an epoch or at the end of one, and can still be evaluated.
var ErrPassOver = errors.New("the pass is over")

// TrainerEnv holds the facts about a run that its trainer gets.
type TrainerEnv struct {
	Rank     int
	Name     string
	Trainers int // of the run: the world size
	// Epochs is an upper bound for every pass. If the user chose a number of epochs, it is the
	// number of the longest pass. The context of Train may end a pass before that, perhaps
	// within an epoch.
	Epochs int
	Seed   uint64 // the run's --torch-seed
	// Server is the key of the run's server, or "".
	Server string
	// Maps holds the chosen keys of the in-trainer kinds (KindDDPModel ...). It lacks the kinds
	// for which the trainer's plugin has no keys.
	Maps map[Kind]string
}

// Evaluation measures a model after an epoch on this rank's share of the held-out samples. A nil
// Evaluation does nothing; a rank without held-out samples has such a one.
type Evaluation struct {
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error
}

// NewEvaluation returns an evaluation whose Run calls run. The host of a trainer uses it, and
// tests of trainers may.
func NewEvaluation(
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error,
) *Evaluation {
	return &Evaluation{run}
}

// Run computes the loss of every held-out batch and, for a classifier, the statistics of its
// outputs. forward computes the outputs, such as the Evaluator of the model. The time of Run counts
// for no iteration and not for the throughput. Without samples it does nothing.
func (e *Evaluation) Run(
	ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion,
) error {
	if e == nil {
		return nil
	}
	return e.run(ctx, epoch, forward, criterion)
}
