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
	"github.com/psbench/psbench/sdk/dataparallel"
)

// mostTrainers is how many gradients a mean has at most.
const mostTrainers = 64

// average answers with the mean of all trainers' gradients, which it takes on the device, in the order
// of the ranks. A push is copied in, each to a place of its own; as the server average when it arrives,
// so that the copies hide behind stragglers, as average_batch when the last one has. A bucket of n
// elements from T trainers moves 4nT bytes each way between host and device, and 4n(T+1) on it, in
// pieces, so that copies in, means and copies out overlap.
//
// A bucket that its trainer shares (device.Borrowed) is not copied: the mean is taken in place, and the
// trainer is answered once the lane has been given the work, which waits on the device for the trainer's
// and is waited for by it there. 4n(T+1) bytes move on the device, and 8n more for each trainer after the first.
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
	bus      *sdk.Counter // bytes of buckets copied between host and device

	mu      sync.Mutex // guards streams, and what follows
	in      *device.Lane
	lane    *device.Lane
	pinned  map[*float32]io.Closer // what the device adopted of the pushes' memory, by where it begins
	copied  *driver.Event          // the copies in of the last piece
	times   times
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
			return nil, fmt.Errorf("%s has %d trainers but takes the mean of at most %d on %s: add servers", env.Name,
				env.Trainers, mostTrainers, d.Name())
		}
		s := &average{
			dev: d, trainers: env.Trainers, timing: timing, buckets: make([]bucket, len(env.Buckets)),
			computed: env.Recorder.Series("method_metric", "average computation"),
			bus:      env.Recorder.Counter(dataparallel.StagingMetric, dataparallel.Bus, "B"),
			pinned:   map[*float32]io.Closer{},
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
		if err = s.times.open(d, env.Recorder, s.in, s.lane); err != nil {
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
		return fmt.Errorf("trainer %d pushed bucket %d twice, batches %d and %d, without an answer", p.Trainer,
			p.Bucket, b.pushes[p.Trainer].Batch, p.Batch)
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
	if err := s.reduce(b); err != nil {
		return err
	}
	return b.answer()
}

// place finds where a push is: on the device, or in pinned memory that it is copied from, and its answer to.
func (s *average) place(b *bucket, p sdk.Push) error {
	t := p.Trainer
	if b.loans[t] = s.dev.Borrowed(p.Gradient.Values); b.loans[t] != nil {
		b.at[t] = p.Gradient.Values[:cap(p.Gradient.Values)]
		return nil
	}
	if err := b.makeRoom(s.dev, t); err != nil {
		return err
	}
	b.at[t] = b.parts[t]
	if !s.pin(p.Gradient) {
		return b.stage(s.dev, p)
	}
	b.host[t] = p.Gradient.Values[:cap(p.Gradient.Values)]
	return nil
}

// Device implements sdk.DeviceServer.
func (s *average) Device() comm.Device { return s.dev }

// begin copies a push in before the others are there.
func (s *average) begin(b *bucket, p sdk.Push) error {
	if b.loans[p.Trainer] != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.begun[p.Trainer] = true
	return s.copyIn(b, p.Trainer, 0, len(p.Gradient.Values))
}

// reduce has the gradients of all pushes be their mean. It waits for those that are copied to the host.
func (s *average) reduce(b *bucket) error {
	start := comm.Now()
	if err := s.give(b); err != nil {
		return err
	}
	if b.staging() {
		if err := b.done.Synchronize(); err != nil {
			return err
		}
		b.unstage()
		s.computed.Record(b.key(), start, comm.Now())
	}
	return s.read()
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

// read records what the device has measured.
func (s *average) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times.read(s.dev)
}

// PassFacts implements sdk.PassDescriber: there are none, but the pass has ended then, and its last means with it:
// the steps after them have been waited for, since trainers look at their parameters. What the device cannot say
// any more, the pass has said.
func (s *average) PassFacts() map[string]string {
	_ = s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.dev.EndTime()
	return nil
}

// Answer implements sdk.Answerer.
func (s *average) Answer(x *sdk.Exchange, answer *tensor.Gradient) error { return x.Average(answer) }

// Reset implements sdk.Server.
func (s *average) Reset() {
	_ = s.dev.BeginPass() // what fails there fails the first push, too
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
