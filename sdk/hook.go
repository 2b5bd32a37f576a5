package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Hook reduces gradient buckets: it decides which link carries which bucket. The host builds it
// after the buckets are planned and its links are joined. In each pass the host calls Reset once,
// then Reduce for every bucket of every iteration.
type Hook interface {
	// Reduce starts the reduction of b and returns a future that is done once
	// b.Gradient holds the reduced gradient. It is called during the trainer's
	// backward pass, in bucket order, one call at a time. It should not block, unless the hook
	// blocks on purpose: it runs on the trainer's goroutine or, where gradients are staged, on
	// another one. b lies in ordinary memory, whatever the engine. If the hook is declared by
	// Carrying, the values of b may lie where Go must not touch them.
	//
	// The hook must account for each operation that it starts on a link: it returns the operation's
	// future or a future that waits for it, or it waits itself, before it starts the next operation on
	// that bucket and link. An operation that the hook forgets ends the run.
	Reduce(state HookState, b *tensor.Bucket) *comm.Future
	// Reset forgets all state of earlier passes, such as error feedback or momentum, so that
	// every pass begins alike. It is called before each pass, the first one included, when no
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

// Links are the links of a rank's hook. A link that the hook does not declare is nil.
type Links struct {
	// Server reduces by push and pull.
	Server comm.PushPuller
	// Group is the trainers' process group. Default is a second group of the
	// same members, for hooks that run a collective beside it.
	Group   comm.Group
	Default comm.Group
}

// HookEnv holds the facts about a run that its hook gets.
type HookEnv struct {
	Rank     int
	Name     string
	Trainers int // of the run, the world size: members of Group
	// Buckets are the buckets that the hook will reduce, in order of their index, with their
	// capacities.
	Buckets []tensor.BucketSpec
	Seed    uint64 // the run's --torch-seed
	Links
	Recorder *Recorder
}
