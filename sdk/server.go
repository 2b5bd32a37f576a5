package sdk

import "github.com/psbench/psbench/comm/tensor"

// Wake says when a server is handed pushes.
type Wake int

const (
	// EachArrival means that Receive is called with every push as it arrives,
	// so that work hides behind stragglers.
	EachArrival Wake = iota
	// LastArrival means that Receive is called once all trainers of the server
	// have pushed a (batch, bucket), with all their pushes in rank order.
	LastArrival
	// EachArrivalDirect is EachArrival for servers whose Receive never waits for
	// another push: it is called where pushes arrive, which saves a hand-over between
	// goroutines for each.
	EachArrivalDirect
)

// Push is one gradient of one trainer that waits for an answer.
type Push struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the trainers of this server, from 0
	// Gradient is the pushed gradient. Until the push is answered the server
	// may read and overwrite it.
	Gradient *tensor.Gradient

	answer func(*tensor.Gradient) error
}

// NewPush makes a push whose Answer calls answer: tests of servers hand their
// servers such pushes.
func NewPush(batch int64, bucket, trainer int, gradient *tensor.Gradient, answer func(*tensor.Gradient) error) *Push {
	return &Push{Batch: batch, Bucket: bucket, Trainer: trainer, Gradient: gradient, answer: answer}
}

// Answer sends g to the trainer, where it replaces the pushed gradient. g may
// be p.Gradient itself and must stay as it is until Answer returns. Each push
// is answered exactly once, at any time, from any goroutine; an error means
// that the trainer can no longer be reached. The push belongs to the trainer's
// next gradient from then on, so what it says must be read before.
func (p *Push) Answer(g *tensor.Gradient) error { return p.answer(g) }

// Server is a parameter server. Synchronous servers answer all trainers at the
// last arrival; asynchronous and stale-synchronous ones answer as they like.
type Server interface {
	// Wake is asked once, before the first push.
	Wake() Wake
	// Receive takes the pushes that Wake asked for. It may be called from
	// several goroutines at once, never twice at once for the same trainer.
	// An error ends the run.
	Receive(pushes []*Push) error
	// Reset forgets all state; it is called before each pass, when no push
	// is unanswered.
	Reset()
}

// ElementwiseReducer is implemented by servers whose answer at element i
// depends on element i of the dense gradients alone, and which wake at the last
// arrival. The host then runs them block by block, on several cores and in the
// trainers' own memory, instead of calling Receive for dense pushes; the order of
// the blocks is open. Sparse pushes still come by Receive.
type ElementwiseReducer interface {
	// Reduce overwrites dst with the reduction of parts, which all have len(dst)
	// elements and are in rank order; dst may be the first of them. It is called
	// from several goroutines at once, for different elements.
	Reduce(dst []float32, parts [][]float32)
	// Reduced notes when the calls of Reduce for one (batch, bucket) began and
	// how long they took: ns of comm.Now, the calls of one core added up, of
	// several cores the longest.
	Reduced(key Key, startNS, endNS int64)
}

// ElementwiseAccumulator is the same for servers that wake at each arrival: the
// first gradient becomes the sum, each later one is added to it. Receive of such
// a server, which gets the sparse pushes, must not wait for another push.
type ElementwiseAccumulator interface {
	// Accumulate takes part into sum; both have the same length. Like Finish it is
	// called from several goroutines at once, for different elements.
	Accumulate(sum, part []float32)
	// Finish turns a sum over all trainers into the answer.
	Finish(sum []float32)
	// Finished notes when the calls of Finish for one (batch, bucket) began and
	// how long they took, as ElementwiseReducer.Reduced does. Between the calls
	// lie the additions of the last gradient, which are not counted.
	Finished(key Key, startNS, endNS int64)
}

// Holder is implemented by servers that hold parameters, for the summaries of what
// training changed. Held gives them in registration order, in memory that stays the
// same; Reset gives them their initial values.
type Holder interface {
	Held() ([]ParameterSpec, []tensor.Tensor)
}

// ServerEnv is what a server knows of its run.
type ServerEnv struct {
	Rank     int
	Name     string
	Trainers int // how many trainers push to this server
	Buckets  []tensor.BucketSpec
	Recorder *Recorder
	Seed     uint64
	// Model is the run's model, unbound, for a server that the registry lists as
	// serving parameters; nil for others.
	Model Model
	// Batches is how many batches each of the trainers has in a pass.
	Batches []int
}
