package sdk

import (
	"context"
	"errors"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Trainer runs the training of one rank. The order of calls is Plan and Attach once, then Reset and
// Train once per pass.
type Trainer interface {
	// Plan groups the model's parameters into buckets. Plan must return the same buckets on every
	// rank. Plan leaves Capacity 0, since the capacity depends on the data. TrainerParts.Buckets have
	// their capacities.
	Plan(parameters []ParameterSpec) ([]tensor.BucketSpec, error)
	// Attach passes the rank's parts to the trainer, all connected and ready.
	Attach(parts TrainerParts) error
	// Reset returns to the initial parameters and clears all other state.
	Reset() error
	// Train runs one pass. psbench resets all trainers and then starts them together. Train
	// must check ctx before each iteration and return an error once ctx has ended. The cause of
	// ctx is ErrPassOver if the pass has all its iterations.
	Train(ctx context.Context, report PassReport) error
}

// TrainerParts are the live objects of one rank. Parts may run in other processes, but the trainer
// uses them in the same way.
type TrainerParts struct {
	Model     Model
	Criterion Criterion
	Hook      Hook
	// Engine owns the memory in which the rank computes.
	Engine engine.Engine
	// WaitCopy is Engine.Wait with the run's timeout: a copy that takes longer ends the run. WaitCopy
	// allocates nothing. If WaitCopy is nil, as in a test, use Engine.Wait.
	WaitCopy func(engine.Ticket) error
	// Values are the parameters in registration order, and Gradients their gradients. Values and
	// Gradients lie in the memory of Engine. Buckets are the buckets of Plan, with their capacities.
	// The hook reduces the buckets in ordinary memory.
	//
	// If the engine is addressable, gradients are views into the buckets. Otherwise the trainer copies
	// gradients to the buckets and back, as a dataparallel.Reducer does.
	Values    []tensor.Tensor
	Gradients []*tensor.Gradient
	Buckets   []*tensor.Bucket
	// AwaitShared is not nil if ranks on one device share buckets in device memory. Gradients are then
	// views into Buckets, which lie in device memory. The trainer calls AwaitShared once the futures
	// of all buckets are done. Later work of the engine then waits for the reduced gradients.
	AwaitShared func() error
	// Step is not nil if the model is a SteppingModel. Step updates the parameters and replaces the
	// trainer's optimizer. dataparallel.NewOptimizer chooses between the two.
	Step func() error
	// Batches is this rank's share of one epoch.
	Batches Batches
	// Evaluation is run at the end of every epoch. The methods of Evaluation may be called on nil.
	Evaluation *Evaluation
	Recorder   *Recorder
	// Links are the links of Hook, for communication of the trainer itself. The trainer must use the
	// links from a single goroutine of its own, in the same order on all ranks. The links are nil if
	// the hook runs in a process of its own.
	Links Links
	// Tables are the embedding tables on the run's servers. Tables is nil unless the trainer needs
	// tables.
	Tables *Tables
}

// InputPlanner is implemented by trainers that look up features in tables, and so convert batches
// to the model's input.
type InputPlanner interface {
	// PlanInputs returns the limits of the data. PlanInputs gets the limits of the model and the
	// tables of the servers, in server order. PlanInputs returns an error if the parts do not fit
	// together. PlanInputs is called once, before Plan.
	PlanInputs(model InputSpec, tables []comm.TableSpec) (InputSpec, error)
}

// Preprocessor is implemented by trainers that change their batches before training on them,
// outside the measured time.
type Preprocessor interface {
	// Preprocess returns the batches to train on, or nil to keep batches. Preprocess must not write to
	// batches. Preprocess must return the same number of batches, each with the same number of
	// samples. The host calls Preprocess before Attach, once with the rank's whole share and once with
	// its held-out batches. The host copies the result to read-only memory.
	//
	// Streamed data does not stay in memory. Preprocess then gets each batch separately, in every
	// epoch, when the host reads the batch ahead. Preprocess runs on its own goroutine, concurrently
	// with the trainer's. So an iteration waits only if reading and preprocessing are slower than
	// training. No list in the result may be longer than the same list of the largest batch.
	Preprocess(batches []Batch) ([]Batch, error)
}

// PassReport receives the progress of a pass. The methods of PassReport are cheap and do not block,
// with one exception. Near the end of a pass of a given time, Loss may wait until the last
// iteration is decided.
type PassReport interface {
	// Epoch reports that an epoch begins. Epochs count from 0.
	Epoch(epoch int)
	// Loss reports the loss of the last finished iteration. If the loss is not finite, psbench
	// inspects parameters and gradients, so nothing may change them during the call. When Loss returns
	// after the last iteration of the pass, the context of Train has ended.
	Loss(loss float64)
}

// ErrPassOver is the cause of Train's context when the pass has all its iterations. The pass may
// end within an epoch or at the end of one. The trainer can still evaluate the model.
var ErrPassOver = errors.New("the pass is over")

// TrainerEnv holds the facts about a run that its trainer gets.
type TrainerEnv struct {
	Rank     int
	Name     string
	Trainers int // world size: number of trainers in the run
	// Epochs is an upper limit for the epochs of every pass. If the user chose a number of epochs,
	// Epochs is the number of the longest pass. The context of Train may end a pass earlier, perhaps
	// within an epoch.
	Epochs int
	Seed   uint64 // the run's --torch-seed
	// Server is the key of the run's server, or "".
	Server string
	// Maps holds the chosen keys of the in-trainer kinds (KindDDPModel ...). Kinds for which the
	// trainer's plugin has no keys are missing.
	Maps map[Kind]string
}

// Evaluation measures a model after an epoch on this rank's share of the held-out samples. A rank
// without held-out samples has a nil Evaluation, which does nothing.
type Evaluation struct {
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error
}

// NewEvaluation returns an evaluation whose Run method calls run. The host of a trainer calls
// NewEvaluation, and tests of trainers may call it too.
func NewEvaluation(
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error,
) *Evaluation {
	return &Evaluation{run}
}

// Run computes the loss of every held-out batch and, for a classifier, the statistics of its
// outputs. forward computes the outputs, for example with the model's Evaluator. The time of Run
// does not count for an iteration or for the throughput. Without samples, Run does nothing.
func (e *Evaluation) Run(
	ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion,
) error {
	if e == nil {
		return nil
	}
	return e.run(ctx, epoch, forward, criterion)
}
