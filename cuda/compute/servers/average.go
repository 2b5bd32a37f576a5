//go:build nvidia

package servers

import (
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// mostTrainers is how many gradients a mean has at most.
const mostTrainers = 64

// average answers with the mean of all trainers' gradients, which it takes on the device, in the order
// of the ranks. A push is copied in, each to a place of its own; as the server average when it arrives,
// so that the copies hide behind stragglers, as average_batch when the last one has. A bucket of n
// elements from T trainers moves 4nT bytes each way between host and device, and 4n(T+1) on it, in
// pieces, so that copies in, means and copies out overlap.
//
// Copies in go on a stream of their own. The lane, which takes means and copies out, waits for those of
// a piece by an event. The lock is held while work is given, never while it is waited for: so all copies are
// from and to pinned memory. That of a push is pinned in shared memory; what a transport keeps in memory of Go
// is staged, a copy more by the processor each way, which the lock of its bucket alone is held over.
type average struct {
	dev      *device.Device
	trainers int
	timing   sdk.Timing
	buckets  []bucket
	computed *sdk.Series

	mu      sync.Mutex // guards streams, and what follows
	in      *device.Lane
	lane    *device.Lane
	pinned  map[*float32]io.Closer // what the device adopted of the pushes' memory, by where it begins
	copied  *driver.Event          // the copies in of the last piece
	scratch [mostTrainers][]float32
}

// newAverage builds either server.
func newAverage(timing sdk.Timing) func(struct{}, sdk.ServerEnv) (sdk.Server, error) {
	return func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
		d, err := device.Of(env.Engine)
		if err != nil {
			return nil, err
		}
		if env.Trainers > mostTrainers {
			return nil, fmt.Errorf("%s has %d trainers but takes the mean of at most %d on %s: add servers", env.Name, env.Trainers, mostTrainers, d.Name())
		}
		s := &average{
			dev: d, trainers: env.Trainers, timing: timing, buckets: make([]bucket, len(env.Buckets)),
			computed: env.Recorder.Series("method_metric", "average computation"), pinned: map[*float32]io.Closer{},
		}
		if s.in, err = d.NewLane(); err != nil {
			return nil, err
		}
		if s.lane, err = d.NewLane(); err != nil {
			return nil, err
		}
		if s.copied, err = d.NewEvent(driver.EventOptions{}); err != nil {
			return nil, err
		}
		for i, spec := range env.Buckets {
			if err := s.buckets[i].open(s, spec); err != nil {
				return nil, fmt.Errorf("bucket %d: %w", i, err)
			}
		}
		return s, nil
	}
}

// Receive implements sdk.Server. It holds the bucket until the answers are given: a trainer that has
// its answer may push again while others still get theirs.
func (s *average) Receive(p sdk.Push) error {
	b := &s.buckets[p.Bucket]
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.Trainer < 0 || p.Trainer >= s.trainers:
		return fmt.Errorf("a push is of trainer %d, of %d", p.Trainer, s.trainers)
	case b.pushes[p.Trainer].Gradient != nil:
		return fmt.Errorf("trainer %d pushed bucket %d twice, batches %d and %d, without an answer", p.Trainer, p.Bucket, b.pushes[p.Trainer].Batch, p.Batch)
	}
	b.pushes[p.Trainer] = p
	b.there++
	if err := s.place(b, p); err != nil {
		return err
	}
	if b.there < s.trainers {
		if s.timing == sdk.OnArrival {
			return s.begin(b, p)
		}
		return nil
	}
	start := comm.Now()
	if err := s.reduce(b); err != nil {
		return err
	}
	s.computed.Record(sdk.Key{A: p.Batch, B: int64(p.Bucket)}, start, comm.Now())
	return b.answer()
}

// place finds the pinned memory that a push is copied from, and its answer to.
func (s *average) place(b *bucket, p sdk.Push) error {
	if !s.pin(p.Gradient) {
		return b.stage(s.dev, p)
	}
	b.host[p.Trainer] = p.Gradient.Values[:cap(p.Gradient.Values)]
	return nil
}

// begin copies a push in before the others are there.
func (s *average) begin(b *bucket, p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.begun[p.Trainer] = true
	return s.copyIn(b, p.Trainer, 0, len(p.Gradient.Values))
}

// reduce has the gradients of all pushes be their mean, and waits for that.
func (s *average) reduce(b *bucket) error {
	if err := s.give(b); err != nil {
		return err
	}
	if err := b.done.Synchronize(); err != nil {
		return err
	}
	b.unstage()
	return nil
}

func (s *average) give(b *bucket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	give := s.giveDense
	if b.spec.Sparse {
		give = s.giveSparse
	}
	if err := give(b); err != nil {
		return err
	}
	if err := s.lane.Queue.Err(); err != nil {
		return err
	}
	return b.done.Record(s.lane.Stream)
}

// pieceElements are copied, averaged and copied back at a time: 4 MiB.
const pieceElements = 1 << 20

func (s *average) giveDense(b *bucket) error {
	for from := 0; from < b.spec.Elements; from += pieceElements {
		to := min(from+pieceElements, b.spec.Elements)
		parts := s.scratch[:s.trainers]
		for t := range b.pushes {
			parts[t] = b.parts[t][from:to]
			if b.begun[t] {
				continue
			}
			if err := s.copyIn(b, t, from, to); err != nil {
				return err
			}
		}
		if err := s.awaitCopies(); err != nil {
			return err
		}
		s.lane.Queue.Mean(b.mean[from:to], parts)
		for _, host := range b.host {
			if err := s.copyOut(host[from:to], b.mean[from:to]); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveSparse adds up the rows of all pushes over their union. A row that some did not push counts as
// 0 there.
func (s *average) giveSparse(b *bucket) error {
	b.merger.Reset()
	for t, p := range b.pushes {
		b.merger.Add(p.Gradient)
		if b.begun[t] {
			continue
		}
		if err := s.copyIn(b, t, 0, len(p.Gradient.Values)); err != nil {
			return err
		}
	}
	var err error
	if b.union, err = b.merger.Union(b.union[:0]); err != nil {
		return err
	}
	mean, q := b.mean[:len(b.union)*b.spec.Width], s.lane.Queue
	q.Clear(mean)
	if err := s.awaitCopies(); err != nil {
		return err
	}
	for t, p := range b.pushes {
		places, err := b.places[t].Room(len(p.Gradient.Rows))
		if err != nil {
			return err
		}
		locate(places, p.Gradient.Rows, b.union)
		sent, err := b.places[t].Send(len(places))
		if err != nil {
			return err
		}
		q.ScatterRows(1, b.parts[t][:len(p.Gradient.Values)], mean, b.spec.Width, sent)
	}
	q.Scale(1/float32(s.trainers), mean)
	for t, p := range b.pushes {
		if err := p.Gradient.SetRows(len(b.union)); err != nil {
			return err
		}
		copy(p.Gradient.Rows, b.union)
		if err := s.copyOut(b.host[t][:len(mean)], mean); err != nil {
			return err
		}
	}
	return nil
}

// locate writes the place of each row in union, which has them all; both ascend.
func locate(places, rows, union []int32) {
	at := int32(0)
	for i, row := range rows {
		for union[at] != row {
			at++
		}
		places[i] = at
	}
}

func (s *average) copyIn(b *bucket, trainer, from, to int) error {
	host := b.host[trainer][from:to]
	return s.in.Stream.CopyIn(address(b.parts[trainer][from:to]), unsafe.Pointer(unsafe.SliceData(host)), 4*len(host)) // #nosec G103 -- the driver takes addresses
}

func (s *average) copyOut(host, memory []float32) error {
	return s.lane.Stream.CopyOut(unsafe.Pointer(unsafe.SliceData(host)), address(memory), 4*len(host)) // #nosec G103 -- the driver takes addresses
}

// awaitCopies has the lane wait for the copies in that were given so far.
func (s *average) awaitCopies() error {
	if err := s.copied.Record(s.in.Stream); err != nil {
		return err
	}
	return s.lane.Stream.Wait(s.copied)
}

// pin says whether the memory of a gradient is pinned. The device is asked when it is seen first, for all that
// it has room for. Pushes come in the same memory again and again; where they do not, what comes later is not pinned.
func (s *average) pin(g *tensor.Gradient) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := unsafe.SliceData(g.Values) // #nosec G103 -- a key
	p, known := s.pinned[at]
	if !known && cap(g.Values) > 0 && len(s.pinned) <= mostPins*len(s.buckets)*s.trainers {
		p = s.dev.Pin(tensor.Float32Bytes(g.Values[:cap(g.Values)]))
		s.pinned[at] = p
	}
	return p != nil
}

// mostPins is how many places the gradients of a bucket of a trainer may lie in to be pinned.
const mostPins = 8

// Answer implements sdk.Answerer.
func (s *average) Answer(x *sdk.Exchange, answer *tensor.Gradient) error { return x.Average(answer) }

// Reset implements sdk.Server.
func (s *average) Reset() {
	for i := range s.buckets {
		b := &s.buckets[i]
		b.mu.Lock()
		b.forget()
		b.mu.Unlock()
	}
}

// Close implements io.Closer: it gives up the memory of the pushes, which goes next.
func (s *average) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, p := range s.pinned {
		if p == nil {
			continue
		}
		if err := p.Close(); first == nil {
			first = err
		}
	}
	s.pinned = nil
	return first
}

func address(memory []float32) driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) // #nosec G103 -- an address of the device
}
