package sdk

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Push is one gradient of one trainer that waits for an answer. A server may keep a Push, by value,
// as long as it likes.
type Push struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the trainers of this server, from 0
	// Number counts the trainer's pushes of the bucket, from 1, over all passes. Number keeps an
	// answer from reaching a later push.
	Number int64
	// Gradient is the pushed gradient. The server may read and overwrite it until it answers the
	// push; the trainer's next push reuses the memory.
	Gradient *tensor.Gradient

	answer func(Push, *tensor.Gradient) error
}

// NewPush returns a copy of p whose Answer method calls answer. psbench creates pushes in this way,
// and tests of servers may do so too.
func NewPush(p Push, answer func(p Push, g *tensor.Gradient) error) Push {
	p.answer = answer
	return p
}

// Answer sends g to the trainer, where it replaces the pushed gradient. g may be p.Gradient itself
// and must not change until Answer returns. The server must answer each push exactly once, before
// the end of its pass, from any goroutine. An error ends the run. The error says that the trainer
// is unreachable, that the push was answered before, or that g is nil.
func (p Push) Answer(g *tensor.Gradient) error {
	if p.answer == nil {
		return fmt.Errorf(
			"the push of batch %d, bucket %d of trainer %d cannot be answered: it must be one that Receive "+
				"was given, or of NewPush", p.Batch, p.Bucket, p.Trainer)
	}
	return p.answer(p, g)
}

// Server is a parameter server that gets whole gradients. If the work is elementwise, write an
// ElementwiseServer instead, which needs less code and is faster. A synchronous server keeps the
// pushes and answers all trainers at the last arrival. Asynchronous and stale-synchronous servers
// choose the time of each answer.
type Server interface {
	// Receive takes a push on arrival. Several goroutines may call Receive at once, but never two for
	// the same trainer. Receive must not wait for another push: over shared memory, no push arrives
	// before Receive returns. An error ends the run.
	Receive(p Push) error
	// Reset clears all state. Reset is called before each pass, when all pushes are answered.
	Reset()
}

// DeviceServer is implemented by servers that reduce gradients in the device memory where the
// trainers leave the gradients. The values of pushes and answers then lie in the memory of the server's
// engine.
type DeviceServer interface {
	Server
	// Device returns the device whose memory the server's engine shares, or nil if it shares none.
	Device() comm.Device
}

// ElementwiseServer is a server whose answer at element i depends only on element i of the
// gradients and is the same for all trainers. Examples are the average, the sum and the median. An
// ElementwiseServer keeps no state. The host gathers the gradients, calls the server's methods
// block by block and answers. The blocks are processed in any order, on several cores, and in the
// trainers' own memory if that memory is shared.
//
// For a sparse gradient, Combine gets one row at a time, only from those trainers that pushed the
// row. Finish gets all rows of the answer.
type ElementwiseServer interface {
	// Combine combines others into sum, which holds a gradient or an earlier result of Combine. All
	// slices have len(sum) elements. With OnLastArrival, others holds the gradients of all other
	// trainers at once, as a median needs. Several goroutines may call Combine at once, for different
	// elements. Combine may write only to sum.
	Combine(sum []float32, others [][]float32)
	// Finish turns sum, the combination of all gradients, into the answer. As with Combine, several
	// goroutines may call Finish at once.
	Finish(sum []float32)
}

// Timing says when the gradients of an ElementwiseServer are combined.
type Timing int

const (
	// OnArrival combines each gradient on arrival into the gradient that arrived first. So the work
	// overlaps with the wait for stragglers. The last arrival still needs its Combine and Finish. The
	// metric of the server's computation measures Finish.
	OnArrival Timing = iota + 1
	// OnLastArrival waits until the last gradient has arrived. OnLastArrival then combines all others
	// into the first trainer's gradient, in rank order. The metric of the server's computation
	// measures Combine and Finish.
	OnLastArrival
)

// Holder is implemented by servers that hold parameters, so that psbench can summarize how training
// changed the parameters. Held returns the parameters in registration order, always in the same
// memory of the server's engine. Reset restores their initial values.
type Holder interface {
	Held() ([]ParameterSpec, []tensor.Tensor)
}

// Expecter is implemented by servers that must know when no more pushes come. A server that answers
// rounds before all trainers have pushed must be an Expecter. Without Expect, the last pushes of a
// pass would wait for pushes that never come.
type Expecter interface {
	// Expect tells the server how many batches each of its trainers has in the pass. Expect is called
	// after each Reset. In a pass of a given time, batches is nil at first. Expect is then called
	// again during the pass, before any trainer is done. An error ends the run.
	Expect(batches []int) error
}

// ServerEnv holds the facts about a run that its server gets.
type ServerEnv struct {
	Rank     int
	Name     string
	Trainers int // number of trainers that push to this server
	Buckets  []tensor.BucketSpec
	Recorder *Recorder
	Seed     uint64
	// Engine owns the memory in which the server computes with a model or an optimizer. Pushes and
	// answers lie in ordinary memory, unless the server is a DeviceServer.
	Engine engine.Engine
	// Model is the run's model, not bound to memory, for a server of parameters. For other servers,
	// Model is nil.
	Model Model
}
