package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Hook reduces gradient buckets. Hook decides which link carries which bucket. The host builds the
// hook after the buckets are planned and the links are connected. In each pass the host calls Reset
// once, then Reduce for every bucket of every iteration.
type Hook interface {
	// Reduce starts the reduction of b. The future of Reduce completes once b.Gradient holds the
	// reduced gradient. The host calls Reduce during the trainer's backward pass, in bucket order, one
	// call at a time.
	//
	// Reduce should return quickly, unless the hook blocks on purpose. Reduce runs on the trainer's
	// goroutine or, if gradients are staged, on another goroutine. b lies in ordinary memory, even if
	// the engine has memory of its own. If Carrying declares the hook, the values of b may lie in
	// memory that Go must not access.
	//
	// The hook must account for each operation that it starts on a link. The hook may return the
	// operation's future or a future that waits for it. Or the hook may wait itself, before it starts
	// the next operation on the same bucket and link. An operation that the hook forgets ends the run.
	Reduce(state HookState, b *tensor.Bucket) *comm.Future
	// Reset clears all state of earlier passes, such as error feedback or momentum, so that every pass
	// begins in the same state. Reset is called before each pass, including the first one, while no
	// bucket is being reduced.
	Reset()
}

// HookState tells a hook the trainer's progress.
type HookState interface {
	// Batch returns the number of the iteration, from 0.
	Batch() int64
	// Key returns the key of a bucket's metrics in this iteration.
	Key(bucket int) Key
}

// Links are the links of a rank's hook. Links that the hook does not declare are nil.
type Links struct {
	// Server reduces buckets by push and pull.
	Server comm.PushPuller
	// Group is the trainers' process group. Default is a second group of the same members, for hooks
	// that run two collectives at once.
	Group   comm.Group
	Default comm.Group
}

// HookEnv holds the facts about a run that its hook gets.
type HookEnv struct {
	Rank     int
	Name     string
	Trainers int // world size: number of trainers in the run, and members of Group
	// Buckets are the buckets that the hook will reduce, by index, with their capacities.
	Buckets []tensor.BucketSpec
	Seed    uint64 // the run's --torch-seed
	Links
	Rounds   Rounds // of a hook that plans its traffic
	Recorder *Recorder
}
