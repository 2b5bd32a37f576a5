package sdk

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
)

// Answerer is implemented by a hook, or a Server of gradients, that can say by itself what it
// leaves in a bucket: psbench comm and the conformance kit compare that with what came out. What
// an ElementwiseServer answers its own methods say.
//
// It is asked once the bucket is reduced, on an instance of its own of a server and on the hook
// itself, for every bucket of every batch in order, and Reset comes before each pass; so a part
// that keeps something from batch to batch keeps it once more for this, of all ranks.
type Answerer interface {
	// Answer makes answer, which has the bucket's shape and capacity, what x.Rank finds in its
	// bucket. A relative deviation of 1e-5 is no difference, since the order of sums is open. The
	// error is ErrNoAnswer where the part cannot say.
	Answer(x *Exchange, answer *tensor.Gradient) error
}

// ErrNoAnswer says that nobody knows what must come out of an exchange.
var ErrNoAnswer = errors.New("nobody knows the answer")

// Exchange is one reduction of a bucket, of which an Answerer is asked what comes out.
type Exchange struct {
	Batch  int64
	Bucket tensor.BucketSpec
	// Gradients are what was in the bucket before, of all trainers by rank; for a server those
	// of its own trainers, by their position. They are copies, which may be overwritten.
	Gradients []*tensor.Gradient
	Rank      int // whose answer it is: a place in Gradients
	// Partners are the places in Gradients of those that push to the same server as Rank, in
	// order, and Server makes answer what that answers them; nil where nobody knows.
	Partners []int
	Server   func(pushed []*tensor.Gradient, answer *tensor.Gradient) error
}

// Sum makes answer what comm.Group's AllReduce makes of Gradients.
func (x *Exchange) Sum(answer *tensor.Gradient) error {
	if x.Bucket.Sparse {
		m := tensor.NewRowMerger(len(x.Gradients))
		for _, g := range x.Gradients {
			m.Add(g)
		}
		return m.Sum(answer)
	}
	clear(answer.Values)
	for _, g := range x.Gradients {
		vec.Add(answer.Values, g.Values)
	}
	return nil
}

// Average makes answer what comm.Group's Average makes of Gradients.
func (x *Exchange) Average(answer *tensor.Gradient) error {
	err := x.Sum(answer)
	vec.Scale(1/float32(len(x.Gradients)), answer.Values)
	return err
}

// PushPull makes answer what comm.PushPuller's PushPull gets from the server of Rank when Partners
// push their Gradients.
func (x *Exchange) PushPull(answer *tensor.Gradient) error {
	if x.Server == nil {
		return fmt.Errorf("%w of the server", ErrNoAnswer)
	}
	pushed := make([]*tensor.Gradient, len(x.Partners))
	for i, place := range x.Partners {
		pushed[i] = x.Gradients[place]
	}
	return x.Server(pushed, answer)
}
