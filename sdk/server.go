package sdk

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Push is one gradient of one trainer that waits for an answer. A server keeps it as it is, by
// value, for as long as it likes.
type Push struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the trainers of this server, from 0
	// Number counts the trainer's pushes of the bucket from 1 on, through all passes. So what
	// answers this one can answer no later one.
	Number int64
	// Gradient is the pushed gradient. Until the push is answered the server
	// may read and overwrite it; from then on it is that of the trainer's next push.
	Gradient *tensor.Gradient

	answer func(Push, *tensor.Gradient) error
}

// NewPush is p with an Answer that calls answer: psbench makes such pushes, and so do tests
// of servers.
func NewPush(p Push, answer func(p Push, g *tensor.Gradient) error) Push {
	p.answer = answer
	return p
}

// Answer sends g to the trainer, where it replaces the pushed gradient. g may
// be p.Gradient itself and must stay as it is until Answer returns. Each push
// is answered exactly once, at any time before its pass is over, from any goroutine. An error
// ends the run: the trainer can no longer be reached, the push was answered before, or g is nil.
func (p Push) Answer(g *tensor.Gradient) error {
	if p.answer == nil {
		return fmt.Errorf(
			"the push of batch %d, bucket %d of trainer %d cannot be answered: it must be one that Receive "+
				"was given, or of NewPush", p.Batch, p.Bucket, p.Trainer)
	}
	return p.answer(p, g)
}

// Server is a parameter server that sees whole gradients: one whose work is elementwise is
// an ElementwiseServer instead, which is less to write and faster. Synchronous servers keep
// their pushes and answer all trainers at the last arrival; asynchronous and
// stale-synchronous ones answer as they like.
type Server interface {
	// Receive takes a push as it arrives. It may be called from several goroutines at
	// once, never twice at once for the same trainer, and must not wait for another push:
	// over shared memory none arrives before it has returned. An error ends the run.
	Receive(p Push) error
	// Reset forgets all state; it is called before each pass, when no push
	// is unanswered.
	Reset()
}

// DeviceServer is implemented by servers that reduce in the memory of a device what their trainers
// leave there. The values of such a push are memory of the server's engine, and so of its answer.
type DeviceServer interface {
	Server
	// Device is nil where the server's engine shares nothing.
	Device() comm.Device
}

// ElementwiseServer is a server whose answer at element i depends on element i of the
// gradients alone, and is the same for all trainers: their average, sum or median. It keeps
// no state. The host gathers the gradients, runs its methods block by block, on several
// cores and in the trainers' own memory where that is shared, and answers. The order of the
// blocks is open.
//
// Of a sparse gradient Combine gets a row at a time: those trainers that did not push a row
// have no part in it. Finish gets all rows of the answer.
type ElementwiseServer interface {
	// Combine takes others into sum, which holds a gradient or what others were taken
	// into before; all have len(sum) elements. With OnLastArrival others are those of all
	// other trainers at once, which a median needs. It is called from several goroutines at
	// once, for different elements, and may write to sum alone.
	Combine(sum []float32, others [][]float32)
	// Finish turns sum, which holds the gradients of all trainers, into the answer. It is
	// called as Combine is.
	Finish(sum []float32)
}

// Timing says when the gradients of an ElementwiseServer are combined.
type Timing int

const (
	// OnArrival combines each gradient as it arrives, with that which arrived first, so
	// that work hides behind stragglers. After the last one its combination and Finish
	// are left, and Finish is what is measured as the server's computation.
	OnArrival Timing = iota + 1
	// OnLastArrival keeps the gradients until the last one has arrived and combines those
	// of all others with that of the first trainer, in rank order. That and Finish are
	// what is measured.
	OnLastArrival
)

// Holder is implemented by servers that hold parameters, for the summaries of what
// training changed. Held gives them in registration order, in memory of the server's engine
// that stays the same; Reset gives them their initial values.
type Holder interface {
	Held() ([]ParameterSpec, []tensor.Tensor)
}

// Expecter is implemented by servers that must know when no more pushes come, as one does
// whose rounds are answered before all trainers have pushed: the last pushes of a pass would
// wait for others that do not come.
type Expecter interface {
	// Expect says how many batches each of the server's trainers has in the pass. It is
	// called after each Reset, with nil if nobody knows yet: the pass lasts for some seconds.
	// Then it is called again during the pass, before any trainer is done. An error ends the
	// run.
	Expect(batches []int) error
}

// ServerEnv is what a server knows of its run.
type ServerEnv struct {
	Rank     int
	Name     string
	Trainers int // how many trainers push to this server
	Buckets  []tensor.BucketSpec
	Recorder *Recorder
	Seed     uint64
	// Engine owns the memory of what the server computes with a model or an optimizer. What is
	// pushed, and what is answered, lies in ordinary memory, but for a DeviceServer's.
	Engine engine.Engine
	// Model is the run's model, unbound, for a server of parameters; nil for
	// others.
	Model Model
}
