package sdk

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
)

// Answerer is implemented by a hook, or a Server of gradients, that can predict its own result for
// a bucket. psbench comm and the conformance kit compare this prediction with the actual result. An
// ElementwiseServer needs no Answerer: its methods define its answer.
//
// psbench calls Answer after each reduction, for every bucket of every batch in order, and calls
// Reset before each pass. For a hook, psbench asks the hook itself; for a server, it asks a
// separate instance. A part that keeps state from batch to batch must keep a second copy of that
// state for Answer, for all ranks.
type Answerer interface {
	// Answer sets answer to the result that x.Rank gets in its bucket. answer has the bucket's shape
	// and capacity. A relative deviation of 1e-5 counts as equal, since the order of sums is not
	// fixed. Answer returns ErrNoAnswer if the part does not know the result.
	Answer(x *Exchange, answer *tensor.Gradient) error
}

// ErrNoAnswer reports that the expected result of an exchange is unknown.
var ErrNoAnswer = errors.New("nobody knows the answer")

// Exchange is one reduction of a bucket, for which an Answerer computes the result.
type Exchange struct {
	Batch  int64
	Bucket tensor.BucketSpec
	// Gradients are the trainers' inputs. For a hook, Gradients holds the gradients of all trainers by
	// rank. For a server, Gradients holds the gradients of the server's own trainers by position.
	// Gradients are copies and may be overwritten.
	Gradients []*tensor.Gradient
	Rank      int // index in Gradients of the trainer whose result is wanted
	// Partners are the indices in Gradients of the trainers that push to the same server as Rank, in
	// order. Server computes the server's answer to the Partners' pushes and stores the result in
	// answer. Server is nil if that answer is unknown.
	Partners []int
	Server   func(pushed []*tensor.Gradient, answer *tensor.Gradient) error
}

// Sum sets answer to the sum of Gradients, as comm.Group's AllReduce computes it.
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

// Average sets answer to the mean of Gradients, as comm.Group's Average computes it.
func (x *Exchange) Average(answer *tensor.Gradient) error {
	err := x.Sum(answer)
	vec.Scale(1/float32(len(x.Gradients)), answer.Values)
	return err
}

// PushPull sets answer to the result that PushPull of comm.PushPuller gives Rank when all Partners
// push their Gradients. PushPull returns ErrNoAnswer, wrapped, if the server's answer is unknown.
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
