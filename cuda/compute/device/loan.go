//go:build nvidia

package device

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// Loan is a bucket in another process's memory that a server works on.
type Loan struct {
	end    *end
	peer   *peer
	bucket int
}

// lend registers the addresses of a peer's buckets for Borrowed.
func (d *Device) lend(e *end, p *peer, values [][]float32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for b, v := range values {
		d.loans[pointer(tensor.Float32Bytes(v))] = &Loan{e, p, b}
	}
}

// Borrowed returns the loan for a push's values, or nil if the values are in ordinary memory.
func (d *Device) Borrowed(values []float32) *Loan {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loans[pointer(tensor.Float32Bytes(values))]
}

// Take makes a lane wait for the data that the owner handed over. Call it after the push has arrived.
func (l *Loan) Take(lane *Lane) error { return lane.Stream.Wait(l.peer.given[l.bucket]) }

// Return marks the end of the lane's work that the owner must wait for. Call it before the answer.
func (l *Loan) Return(lane *Lane) error { return l.end.done[l.bucket].Record(lane.Stream) }

// Borrow implements engine.Borrower.
func (d *Device) Borrow(values []float32) engine.Loan {
	if l := d.Borrowed(values); l != nil {
		return (*computed)(l)
	}
	return nil
}

// computed is a Loan for work on the compute stream.
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
