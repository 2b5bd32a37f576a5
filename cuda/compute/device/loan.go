//go:build nvidia

package device

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Loan is a bucket of another process that a server works in.
type Loan struct {
	end    *end
	peer   *peer
	bucket int
}

// lend notes where the buckets of a peer are, for Borrowed.
func (d *Device) lend(e *end, p *peer, values [][]float32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for b, v := range values {
		d.loans[pointer(tensor.Float32Bytes(v))] = &Loan{e, p, b}
	}
}

// Borrowed is the loan that values of a push begin; nil if they are in ordinary memory.
func (d *Device) Borrowed(values []float32) *Loan {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loans[pointer(tensor.Float32Bytes(values))]
}

// Take has a lane wait for what the owner handed over. It comes once the push is there.
func (l *Loan) Take(lane *Lane) error { return lane.Stream.Wait(l.peer.given[l.bucket]) }

// Return marks that the lane has done all that the owner is to wait for. It comes before the answer.
func (l *Loan) Return(lane *Lane) error { return l.end.done[l.bucket].Record(lane.Stream) }

// Borrow implements engine.Borrower.
func (d *Device) Borrow(values []float32) engine.Loan {
	if l := d.Borrowed(values); l != nil {
		return (*computed)(l)
	}
	return nil
}

// computed is a Loan for work of the compute stream.
type computed Loan

// Take implements engine.Loan.
func (l *computed) Take() error { return (*Loan)(l).Take(l.end.device.compute) }

// Return implements engine.Loan.
func (l *computed) Return() error { return (*Loan)(l).Return(l.end.device.compute) }

// Copy implements engine.Sharer.
func (d *Device) Copy(to, from []float32) error {
	q := d.Compute().Queue
	q.Copy(to, from)
	return q.Err()
}
