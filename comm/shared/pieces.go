package shared

import (
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/vec"
)

// Large gradients in ordinary memory are passed in pieces to a server that reduces piece by piece.
// The trainer copies a piece into a slot of shared memory; the server takes the pieces that all
// trainers have there through its steps and leaves the answer in the slots; the trainer copies it
// to where it has just read, and the next piece into the slot. So a gradient of S bytes costs 2*S
// read and 2*S written by each trainer, of which half is in its second-level cache, as is all that
// the server touches. Through copies of the whole gradient it costs as much, but all of it in
// memory; by the kernel's single copy less is copied, but every page is looked up twice.
//
// Pieces go on whoever waits for which push, and if nobody does: the mover sees to that.

// passing is how the push of a bucket that is in flight is passed in pieces. Who begins the push
// fills the slots; from then on who holds the mover's lock carries it on.
type passing struct {
	line     *layout.PieceLine
	reserved bool          // there is room for the slots
	passed   uint32        // pieces of the pushes before this one
	sent     int           // pieces of this one
	taken    int           // whose answers are in the gradient
	due      atomic.Uint32 // of Given, when the next answer is there
	underway atomic.Bool   // some answer is not in the gradient
	takenNS  int64         // when the last one was
}

// passFirst sends the first pieces of a push.
func (p *push) passFirst() error {
	w := p.pieces
	if !w.reserved {
		if err := layout.ReservePieces(p.link.Self, &p.op.Spec); err != nil {
			return err
		}
		w.reserved = true
	}
	w.sent, w.taken = 0, 0
	for range layout.PieceSlots {
		p.send()
	}
	w.due.Store(w.passed + 1)
	p.link.mover.take(p)
	return nil
}

// send puts the next piece into its slot.
func (p *push) send() {
	w := p.pieces
	here, slot := p.piece(w.sent)
	vec.Copy(slot, here)
	w.sent++
	w.line.Sent.Store(w.passed + uint32(w.sent)) // #nosec G115 -- counters wrap
}

// piece is piece k in the gradient and in its slot.
func (p *push) piece(k int) (here, slot []float32) {
	from, to := layout.PieceOf(p.op.Spec.Elements, k)
	return p.op.Gradient.Values[from:to], layout.Slot(p.Copied.Gradient.Values, k)
}

// canMove says whether an answer is there to be taken.
func (w *passing) canMove() bool {
	return w.underway.Load() && int32(w.line.Given.Load()-w.due.Load()) >= 0 // #nosec G115 -- counters wrap
}

// passOn takes the answer that is there and sends the next piece, unless there is none. It is
// true if that was the last answer.
func (p *push) passOn() (over bool) {
	w, pieces := p.pieces, comm.PieceCount(p.op.Spec.Elements)
	here, slot := p.piece(w.taken)
	copy(here, slot)
	w.taken++
	if w.sent < pieces {
		p.send()
		p.link.client.server.Ring()
	}
	if w.taken < pieces {
		w.due.Add(1)
		return false
	}
	w.passed += uint32(pieces) // #nosec G115 -- counters wrap
	w.takenNS = comm.Now()
	w.underway.Store(false)
	return true
}
