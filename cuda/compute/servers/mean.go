//go:build nvidia

package servers

import (
	"unsafe"

	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/driver"
)

// give launches all work of a mean and records an event at its end.
func (s *average) give(b *bucket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, loan := range b.loans {
		if loan != nil {
			if err := loan.Take(s.lane); err != nil {
				return err
			}
		}
	}
	if !b.staging() { // otherwise the host waits for the mean and measures it
		s.times.shared.Begin(s.computed, b.key())
	}
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
	s.times.shared.End()
	for _, loan := range b.loans {
		if loan != nil {
			if err := loan.Return(s.lane); err != nil {
				return err
			}
		}
	}
	return b.done.Record(s.lane.Stream)
}

// pieceElements is the number of elements that are copied, averaged and copied back at a time: 4 MiB.
const pieceElements = 1 << 20

func (s *average) giveDense(b *bucket) error {
	for from := 0; from < b.spec.Elements; from += pieceElements {
		to := min(from+pieceElements, b.spec.Elements)
		parts := s.scratch[:s.trainers]
		for t := range b.pushes {
			parts[t] = b.at[t][from:to]
			if b.begun[t] || b.loans[t] != nil {
				continue
			}
			if err := s.copyIn(b, t, from, to); err != nil {
				return err
			}
		}
		if err := s.awaitCopies(); err != nil {
			return err
		}
		mean := parts[0] // in place
		s.times.lane.Begin(s.times.mean, b.key())
		s.lane.Queue.Mean(mean, parts)
		s.times.lane.End()
		for t := range b.pushes {
			if err := s.bring(b, t, from, to, mean); err != nil {
				return err
			}
		}
	}
	return nil
}

// bring copies elements of a mean to the place of a trainer's answer, unless they are already there.
func (s *average) bring(b *bucket, trainer, from, to int, mean []float32) error {
	if b.loans[trainer] == nil {
		return s.copyOut(b, b.host[trainer][from:to], mean)
	}
	if own := b.at[trainer][from:to]; unsafe.SliceData(own) != unsafe.SliceData(mean) { // #nosec G103 -- compared
		s.lane.Queue.Copy(own, mean)
	}
	return nil
}

// giveSparse adds up the rows of all pushes over their union. A row that some trainer did not push counts as 0 for
// that trainer.
func (s *average) giveSparse(b *bucket) error {
	b.merger.Reset()
	for t, p := range b.pushes {
		b.merger.Add(p.Gradient)
		if b.begun[t] || b.loans[t] != nil {
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
	if err := s.awaitCopies(); err != nil {
		return err
	}
	s.times.lane.Begin(s.times.mean, b.key())
	q.Clear(mean)
	for t, p := range b.pushes {
		places, err := device.Locate(b.places[t], p.Gradient.Rows, b.union)
		if err != nil {
			return err
		}
		q.ScatterRows(1, b.at[t][:len(p.Gradient.Values)], mean, b.spec.Width, places)
	}
	q.Scale(1/float32(s.trainers), mean)
	s.times.lane.End()
	for t, p := range b.pushes {
		if err := p.Gradient.SetRows(len(b.union)); err != nil {
			return err
		}
		copy(p.Gradient.Rows, b.union)
		if err := s.bring(b, t, 0, len(mean), mean); err != nil {
			return err
		}
	}
	return nil
}

func (s *average) copyIn(b *bucket, trainer, from, to int) error {
	host := b.host[trainer][from:to]
	s.bus.Add(int64(4 * len(host)))
	s.times.in.Begin(s.times.copyIn, b.key())
	defer s.times.in.End()
	return s.in.Stream.CopyIn(address(b.parts[trainer][from:to]), unsafe.Pointer(unsafe.SliceData(host)), 4*len(host)) // #nosec G103 -- the driver takes addresses
}

func (s *average) copyOut(b *bucket, host, memory []float32) error {
	s.bus.Add(int64(4 * len(host)))
	s.times.lane.Begin(s.times.copyOut, b.key())
	defer s.times.lane.End()
	return s.lane.Stream.CopyOut(unsafe.Pointer(unsafe.SliceData(host)), address(memory), 4*len(host)) // #nosec G103 -- the driver takes addresses
}

// awaitCopies makes the lane wait for all copies in so far.
func (s *average) awaitCopies() error {
	if err := s.copied.Record(s.in.Stream); err != nil {
		return err
	}
	return s.lane.Stream.Wait(s.copied)
}

func address(memory []float32) driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) // #nosec G103 -- an address of the device
}
