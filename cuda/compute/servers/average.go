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

// mostTrainers is the largest number of gradients in a mean.
const mostTrainers = 64

// average answers with the mean of all trainers' gradients. average computes the mean on the device, in the order
// of the ranks. Each push is copied in to its own place. As the server average, it copies on arrival, so that the
// copies overlap with the wait for stragglers; as average_batch, it copies after the last push has arrived. A
// bucket of n elements from T trainers moves 4nT bytes each way between host and device, and 4n(T+1) bytes on the
// device. average does so in pieces, so that copies in, means and copies out overlap.
//
// A bucket that its trainer shares (device.Borrowed) is not copied: the mean is computed in place. The server
// answers the trainer as soon as the lane has the work. On the device, this work waits for the trainer's earlier
// work, and the trainer's later work waits for it. This moves 4n(T+1) bytes on the device, and 8n more for each
// trainer after the first.
//
// Copies in use a separate stream. The lane computes means and copies out. The lane waits for the copies of a
// piece by an event. The lock is held while work is launched but never during a wait, so all copies use pinned memory.
// A push in shared memory is pinned there. A push in Go memory is staged: the processor copies it once more each way,
// under the lock of its bucket alone.
type average struct {
	dev      *device.Device
	trainers int
	timing   sdk.Timing
	buckets  []bucket
	computed *sdk.Series
	bus      *sdk.Counter // bytes of buckets copied between host and device

	mu      sync.Mutex // guards streams and the fields below
	in      *device.Lane
	lane    *device.Lane
	pinned  map[*float32]io.Closer // the device's registrations of push memory, by its start
	copied  *driver.Event          // copies in of the last piece
	times   times
	scratch [mostTrainers][]float32
}

// newAverage builds average or average_batch.
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

// Receive implements sdk.Server. Receive holds the bucket's lock until it has answered all trainers. Otherwise, an
// answered trainer could push again while others still get their answers.
func (s *average) Receive(p sdk.Push) error {
	b := &s.buckets[p.Bucket]
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.Trainer < 0 || p.Trainer >= s.trainers:
		return fmt.Errorf("a push names trainer %d, but the number of trainers is %d", p.Trainer, s.trainers)
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

// place finds the memory of a push: on the device, or pinned host memory for the copies of the push and of its
// answer.
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

// begin copies a push in before the other pushes arrive.
func (s *average) begin(b *bucket, p sdk.Push) error {
	if b.loans[p.Trainer] != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.begun[p.Trainer] = true
	return s.copyIn(b, p.Trainer, 0, len(p.Gradient.Values))
}

// reduce replaces the gradients of all pushes by their mean. reduce waits for copies to the host.
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

// pin reports whether the memory of a gradient is pinned. The first time, it asks the device to pin all memory of
// the gradient up to its capacity. Pushes normally come in the same memory again. If they do not, later memory is
// not pinned.
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

// mostPins is how many different places of one trainer's bucket the server pins.
const mostPins = 8

// read records the device's measurements.
func (s *average) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times.read(s.dev)
}

// PassFacts implements sdk.PassDescriber. PassFacts returns no facts. The host calls it at the end of a pass, so it
// records the last measurements. The last means have ended by then, because trainers have read their parameters.
// PassFacts ignores errors of the device, because the pass has already reported them.
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
	_ = s.dev.BeginPass() // a failure here also fails the first push
	for i := range s.buckets {
		b := &s.buckets[i]
		b.mu.Lock()
		b.forget()
		b.mu.Unlock()
	}
}

// Close implements io.Closer. Close gives up the memory of the pushes, which their owner frees next.
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
