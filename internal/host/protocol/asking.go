package protocol

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/sdk"
)

var (
	_ sdk.Answerer = (*Hook)(nil)
	_ sdk.Answerer = (*Server)(nil)
)

// Answer implements sdk.Answerer for a part that declares sdk.AnswersOwn. Other parts do not know
// the call.
func (h *Hook) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	return h.asking.ask(h.link, x, answer)
}

// Answer implements sdk.Answerer for a server.
func (s *Server) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	return s.asking.ask(s.link, x, answer)
}

// asking is memory that host and part share. Through that memory, the host asks the part for its
// expected answer. asking holds the gradients of an exchange one after the other, then the answer.
// The memory grows with the buckets.
type asking struct{ values, rows, counts room }

func newAsking() asking {
	return asking{room{role: roleAsked}, room{role: roleAskedRows}, room{role: roleAskedCounts}}
}

// ask calls the part. The part writes the answer itself, or it names an operation, and the host
// applies that operation to the gradients as the part has left them.
func (a *asking) ask(l *link, x *sdk.Exchange, answer *tensor.Gradient) error {
	n := len(x.Gradients)
	shared, counts, err := a.places(l, &x.Bucket, n+1)
	if err != nil {
		return err
	}
	for i, g := range x.Gradients {
		if err := shared[i].Gradient.CopyFrom(g); err != nil {
			return err
		}
		shared[i].ShowRows(g.Rows)
		counts[i] = int64(len(g.Rows))
	}
	counts[n] = 0
	h := wire.Header{Op: opExpect, Batch: x.Batch, Bucket: int32(x.Bucket.Index), Arg: int64(x.Rank), Arg2: int64(n)} // #nosec G115 -- an index
	said, err := l.call(&h)
	if err != nil {
		return err
	}
	take := func(place int, g *tensor.Gradient) error {
		if b := shared[place]; b.Sparse {
			if err := b.TakeRows(int(counts[place])); err != nil {
				return l.wrong("answered %s with invalid rows: %v", describe(&h), err)
			}
		}
		return g.CopyFrom(&shared[place].Gradient)
	}
	if said.Arg == 0 {
		return take(n, answer)
	}
	for i, g := range x.Gradients {
		if err := take(i, g); err != nil {
			return err
		}
	}
	switch said.Arg {
	case int64(opPushPull):
		return x.PushPull(answer)
	case int64(opAllReduce):
		return x.Sum(answer)
	case int64(opAverage):
		return x.Average(answer)
	}
	return l.wrong("answered %s with operation %#x: it must be push-pull, all-reduce, average, or 0", describe(&h),
		said.Arg)
}

// places returns shared memory for n gradients of a bucket, and for the number of rows of each.
func (a *asking) places(l *link, spec *tensor.BucketSpec, n int) (shared []*tensor.Bucket, counts []int64, err error) {
	values, err := a.values.in(l, 4*n*spec.Room())
	if err != nil {
		return nil, nil, err
	}
	rows, err := a.rows.in(l, 4*n*spec.Capacity)
	if err != nil {
		return nil, nil, err
	}
	bytes, err := a.counts.in(l, 8*n)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		from, to := i*spec.Room(), (i+1)*spec.Room()
		shown := tensor.ViewOf[int32](rows, n*spec.Capacity)[i*spec.Capacity : (i+1)*spec.Capacity]
		shared = append(shared, tensor.BucketIn(tensor.ViewFloat32(values)[from:to:to], shown, *spec))
	}
	return shared, tensor.ViewOf[int64](bytes, n), nil
}
