package servers

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// average adds each gradient as it arrives, so that the additions hide behind
// stragglers; at the last arrival it divides by the count of trainers and
// answers all of them. A bucket of n elements costs n additions per arrival but
// the first and n multiplications at the end; with one trainer, nothing.
type average struct {
	trainers int
	buckets  []runningSum
	computed *sdk.Series
}

// runningSum is the sum of one bucket in one batch.
type runningSum struct {
	mu      sync.Mutex
	pending []*sdk.Push // in the order of arrival
	sum     *tensor.Gradient
	// A sparse sum grows by rows, so it cannot be built in place: each arrival
	// merges it with the new gradient from one of these into the other.
	sparse, spare tensor.Gradient
	merger        *tensor.RowMerger
}

var _ sdk.ElementwiseAccumulator = (*average)(nil)

func newAverage(_ noSettings, env sdk.ServerEnv) (sdk.Server, error) {
	s := &average{
		trainers: env.Trainers, computed: averageComputation(env),
		buckets: make([]runningSum, len(env.Buckets)),
	}
	for i, spec := range env.Buckets {
		b := &s.buckets[i]
		b.pending = make([]*sdk.Push, 0, env.Trainers)
		if spec.Sparse {
			b.sparse, b.spare = tensor.NewGradient(spec), tensor.NewGradient(spec)
			b.merger = tensor.NewRowMerger(2)
		}
	}
	return s, nil
}

func (s *average) Wake() sdk.Wake { return sdk.EachArrival }

// Receive holds the bucket's lock until all are answered: a trainer that has
// its answer may push the next batch while the others still read the sum.
func (s *average) Receive(pushes []*sdk.Push) error {
	p := pushes[0]
	b := &s.buckets[p.Bucket]
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) > 0 && b.pending[0].Batch != p.Batch {
		return fmt.Errorf("trainer %d pushed batch %d of bucket %d while batch %d is being averaged: trainers must push the same batches in the same order",
			p.Trainer, p.Batch, p.Bucket, b.pending[0].Batch)
	}
	if err := b.add(p); err != nil {
		return err
	}
	if len(b.pending) < s.trainers {
		return nil
	}
	start := comm.Now()
	s.Finish(b.sum.Values)
	s.Finished(sdk.Key{A: p.Batch, B: int64(p.Bucket)}, start, comm.Now())
	return b.answer()
}

// Accumulate implements sdk.ElementwiseAccumulator.
func (s *average) Accumulate(sum, part []float32) { vec.Add(sum, part) }

// Finish implements sdk.ElementwiseAccumulator: it divides by the count of trainers.
func (s *average) Finish(sum []float32) {
	if s.trainers > 1 {
		vec.Scale(1/float32(s.trainers), sum)
	}
}

// Finished implements sdk.ElementwiseAccumulator.
func (s *average) Finished(key sdk.Key, startNS, endNS int64) { s.computed.Record(key, startNS, endNS) }

// add takes p into the sum. The first dense gradient becomes the sum itself.
func (b *runningSum) add(p *sdk.Push) error {
	first := len(b.pending) == 0
	b.pending = append(b.pending, p)
	switch {
	case first && p.Gradient.Sparse():
		b.sum = &b.sparse
		return b.sum.CopyFrom(p.Gradient)
	case first:
		b.sum = p.Gradient
		return nil
	case p.Gradient.Sparse():
		b.merger.Reset()
		b.merger.Add(b.sum)
		b.merger.Add(p.Gradient)
		if err := b.merger.Sum(&b.spare); err != nil {
			return err
		}
		b.sparse, b.spare = b.spare, b.sparse
		return nil
	default:
		vec.Add(b.sum.Values, p.Gradient.Values)
		return nil
	}
}

// answer sends the sum to everyone, the first arrival last: its gradient holds
// the sum, and once answered its trainer may overwrite it.
func (b *runningSum) answer() error {
	defer func() { b.pending = b.pending[:0] }()
	for i := len(b.pending) - 1; i >= 0; i-- {
		if err := b.pending[i].Answer(b.sum); err != nil {
			return err
		}
	}
	return nil
}

func (s *average) Reset() {
	for i := range s.buckets {
		b := &s.buckets[i]
		b.mu.Lock()
		b.pending = b.pending[:0]
		b.mu.Unlock()
	}
}
