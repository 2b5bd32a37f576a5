package sdk

import (
	"context"

	"github.com/psbench/psbench/comm"
)

// Trainer runs the training of one rank. Order of calls: Plan and Attach once,
// then Reset and Train once per pass.
type Trainer interface {
	// Plan groups the model's parameters into buckets. It must give the same
	// answer on every rank. Capacity is left 0.
	Plan(parameters []ParameterSpec) ([]comm.BucketSpec, error)
	// Attach hands over the parts of the rank, all connected and ready.
	Attach(parts TrainerParts) error
	// Reset returns to the initial parameters and a fresh state.
	Reset() error
	// Train runs one pass. All trainers are told to start together, after all
	// of them were reset. When ctx ends Train returns soon, with an error.
	Train(ctx context.Context, report PassReport) error
}

// TrainerParts are the live objects of one rank. The parts may run in other
// processes; the trainer cannot tell.
type TrainerParts struct {
	Model     Model
	Criterion Criterion
	Hook      Hook
	// Values are the parameters in registration order, Gradients their
	// gradients: views into the buckets' gradients.
	Values    []comm.Tensor
	Gradients []*comm.Gradient
	Buckets   []*comm.Bucket
	// Batches is this rank's share of one epoch. It must not be written: it may lie
	// in memory that other processes read as well.
	Batches  []Batch
	Recorder *Recorder
}

// PassReport receives what a pass tells while it runs. Its methods are cheap
// and do not block.
type PassReport interface {
	// Epoch says that the epoch (from 0) begins.
	Epoch(epoch int)
	// Loss notes the loss of the next iteration, in order.
	Loss(loss float64)
}

// TrainerEnv is what a trainer knows of its run.
type TrainerEnv struct {
	Rank   int
	Name   string
	Epochs int
	Seed   uint64
	// Maps holds the chosen keys of the in-trainer kinds (KindDDPModel ...).
	Maps map[Kind]string
}
