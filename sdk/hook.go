package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Hook reduces gradient buckets: it decides which link carries which bucket. It is made
// once the buckets are planned and its links are joined; then for each pass Reset comes
// first, and Reduce for every bucket of every iteration.
type Hook interface {
	// Reduce starts the reduction of b and returns a future that is done once
	// b.Gradient holds the reduced gradient. It is called during the trainer's
	// backward pass, in bucket order, and should not block unless blocking is
	// what the hook is for: on the trainer's goroutine or, where gradients are staged, on
	// another one, one call at a time. b lies in ordinary memory, whatever the engine, unless the
	// hook is declared by Carrying: then its values may lie where Go must not touch them.
	//
	// The hook returns the future of each operation that it starts on a link, or one that waits for it, or waits
	// itself, at the latest before it starts the next one on that bucket and link. One that it forgets ends the run.
	Reduce(state HookState, b *tensor.Bucket) *comm.Future
	// Reset forgets all that earlier passes left, such as an error that was fed back or a
	// momentum, so that every pass begins alike. It is called before each pass, the first
	// one too, when no bucket is being reduced.
	Reset()
}

// HookState is what a hook knows of the trainer's progress.
type HookState interface {
	// Batch counts iterations from 0.
	Batch() int64
	// Key is the key of a bucket's metrics in this iteration.
	Key(bucket int) Key
}

// Links are those that a rank's hook has. Those that the hook does not declare are
// nil.
type Links struct {
	// Server reduces by push and pull.
	Server comm.PushPuller
	// Group is the trainers' process group. Default is a second group of the
	// same members, for hooks that run a collective beside it.
	Group   comm.Group
	Default comm.Group
}

// HookEnv is what a hook knows of its run.
type HookEnv struct {
	Rank     int
	Name     string
	Trainers int // of the run, the world size: members of Group
	// Buckets are those that it will be given to reduce, in order of their index, with their
	// capacities.
	Buckets []tensor.BucketSpec
	Seed    uint64 // the run's --torch-seed
	Links
	Recorder *Recorder
}
