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
	// Plan groups the model's parameters into buckets. It must give the same
	// answer on every rank. Capacity is left 0: it is known once the data is, and
	// TrainerParts.Buckets have it.
	Plan(parameters []ParameterSpec) ([]tensor.BucketSpec, error)
	// Attach hands over the parts of the rank, all connected and ready.
	Attach(parts TrainerParts) error
	// Reset returns to the initial parameters and a fresh state.
	Reset() error
	// Train runs one pass. All trainers are told to start together, after all
	// of them were reset. When ctx ends Train returns soon, with an error: it looks at ctx
	// before each iteration, which begins only if ctx has not ended. The cause is ErrPassOver
	// if the pass has all its iterations.
	Train(ctx context.Context, report PassReport) error
}

// TrainerParts are the live objects of one rank. The parts may run in other
// processes; the trainer cannot tell.
type TrainerParts struct {
	Model     Model
	Criterion Criterion
	Hook      Hook
	// Engine owns the memory that the rank computes in.
	Engine engine.Engine
	// WaitCopy is Engine.Wait, but a copy that does not end within the run's timeout ends the
	// run. It allocates nothing. nil, as in a test, stands for Engine.Wait.
	WaitCopy func(engine.Ticket) error
	// Values are the parameters in registration order, Gradients their gradients, both in
	// the memory of Engine. Buckets are those of Plan, with their capacities, which the
	// hook reduces, in ordinary memory. Where the engine is addressable gradients are views
	// into them; elsewhere they are copied from and to them, as a dataparallel.Reducer does.
	Values    []tensor.Tensor
	Gradients []*tensor.Gradient
	Buckets   []*tensor.Bucket
	// AwaitShared, unless it is nil, says that ranks of one device share buckets in its memory:
	// gradients are views into Buckets, which lie there. It has what the engine is given after it
	// wait for what came back, and comes once the futures of all buckets are done.
	AwaitShared func() error
	// Step, unless it is nil, is what steps the parameters in the place of the trainer's optimizer:
	// that of a SteppingModel. dataparallel.NewOptimizer makes the one or the other.
	Step func() error
	// Batches is this rank's share of one epoch.
	Batches Batches
	// Evaluation is run at the end of every epoch; its methods may be called on nil.
	Evaluation *Evaluation
	Recorder   *Recorder
	// Links are those of Hook, for what a trainer communicates beside it: with its own
	// goroutine, and in the order in which all trainers do. None are there where the hook
	// has a process of its own.
	Links Links
	// Tables are the embedding tables of the run's servers; nil unless the trainer
	// needs tables.
	Tables *Tables
}

// InputPlanner is implemented by trainers whose batches are not what the model takes:
// they look the model's features up in tables first.
type InputPlanner interface {
	// PlanInputs states the limits of the data, given what the model accepts and the
	// tables of the servers, in order of the servers. Parts that do not fit together
	// are an error. It is asked once, before Plan.
	PlanInputs(model InputSpec, tables []comm.TableSpec) (InputSpec, error)
}

// Preprocessor is implemented by trainers that change their batches before they train on
// them, outside of the time that is measured.
type Preprocessor interface {
	// Preprocess gives what to train on in the place of batches, or nil for them as they
	// are. It must not write to them: equally many others, with equally many samples each,
	// take their place. It is called before Attach, once with the rank's whole share and
	// once with its held-out batches. What it gives is copied to where nobody may write.
	//
	// Streamed data is no list that could be kept. Of that it gets each batch alone, in
	// every epoch, as the batch is read ahead: on a goroutine beside the trainer's, so that
	// no iteration waits unless reading is too slow in all. No list of what it gives may be
	// longer than those of the largest batch.
	Preprocess(batches []Batch) ([]Batch, error)
}

// PassReport receives what a pass tells while it runs. Its methods are cheap
// and do not block, but that Loss may wait, near the end of a pass of so many seconds, for word
// of where that is.
type PassReport interface {
	// Epoch says that the epoch (from 0) begins.
	Epoch(epoch int)
	// Loss notes the loss of the iteration that ended last. Parameters and gradients are
	// looked at if it is not finite, so nothing may work on them meanwhile. The context of
	// Train has ended when Loss returns from the last iteration of the pass.
	Loss(loss float64)
}

// ErrPassOver is the cause of the end of Train's context where the pass has all its
// iterations. It may end within an epoch, or at the end of one, and can still be evaluated.
var ErrPassOver = errors.New("the pass is over")

// TrainerEnv is what a trainer knows of its run.
type TrainerEnv struct {
	Rank     int
	Name     string
	Trainers int // of the run: the world size
	// Epochs is a number that no pass exceeds, and that of the longest pass where the user
	// said how many there are. The context of Train ends a pass before that, perhaps within
	// an epoch.
	Epochs int
	Seed   uint64 // the run's --torch-seed
	// Server is the key of the run's server, or "".
	Server string
	// Maps holds the chosen keys of the in-trainer kinds (KindDDPModel ...). A kind of which
	// the trainer's plugin has none is missing.
	Maps map[Kind]string
}

// Evaluation measures, after an epoch, how good a model is on this rank's share of the
// held-out samples. A nil one does nothing, as one of a rank without samples.
type Evaluation struct {
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error
}

// NewEvaluation makes an evaluation whose Run calls run: the host of a trainer does, and
// tests of trainers may.
func NewEvaluation(
	run func(ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion) error,
) *Evaluation {
	return &Evaluation{run}
}

// Run computes the loss of every held-out batch, and what tells a classifier's quality
// from its output, which forward computes: the Evaluator of the model, say. The time that it takes counts
// for no iteration and not for the throughput. Without samples it does nothing.
func (e *Evaluation) Run(
	ctx context.Context, epoch int, forward func(*Batch) (tensor.Tensor, error), criterion Criterion,
) error {
	if e == nil {
		return nil
	}
	return e.run(ctx, epoch, forward, criterion)
}
