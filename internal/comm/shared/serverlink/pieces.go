package serverlink

import (
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// Large gradients in ordinary memory go in pieces to a server that reduces piece by piece. The trainer
// copies pieces into slots of shared memory. The server reduces a piece once all trainers have sent it
// and leaves the answer in the slot. The trainer copies the answer over its piece, and the next piece
// into the slot. So each trainer reads 2*S and writes 2*S for a gradient of S bytes, half of it in its
// second-level cache; so is all of the server's work. Copies of the whole gradient cost as much, but all
// of it in memory. The kernel's single copy moves less, but looks every page up twice.
//
// Pieces move whichever push a waiter waits for, and without a waiter: see mover.

// passing is the state of a push in pieces. The pushing goroutine sends the first pieces, so the server
// can begin. From then on the holder of the mover's lock carries the push on and alone writes here;
// others read only the atomic fields.
type passing struct {
	line     *layout.PieceLine
	slots    int           // there are
	reserved bool          // there is room for the slots
	passed   uint32        // pieces of the pushes before this one
	sent     int           // pieces of this one
	taken    int           // whose answers are in the gradient
	due      atomic.Uint32 // of Given, when the next answer is there
	room     atomic.Bool   // there is a free slot for the next piece
	underway atomic.Bool   // some answer is not in the gradient
	takenNS  int64         // when the last one was
}

func newPassing(line *layout.PieceLine, slots int) *passing {
	line.Slots.Store(uint32(slots)) // #nosec G115 -- few
	return &passing{line: line, slots: slots}
}

// passFirst sends the first pieces of a push.
func (p *push) passFirst() error {
	w := p.pieces
	if !w.reserved {
		if err := layout.ReservePieces(p.link.Self, &p.op.Spec, w.slots); err != nil {
			return err
		}
		w.reserved = true
	}
	w.sent, w.taken = 0, 0
	for range layout.FirstPieces {
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
	w.room.Store(w.sent < comm.PieceCount(p.op.Spec.Words()) && w.sent-w.taken < w.slots)
}

// piece is piece k in the gradient and in its slot.
func (p *push) piece(k int) (here, slot []float32) {
	from, to := comm.PieceOf(p.op.Spec.Words(), k)
	return p.op.Gradient.Values[from:to], layout.Slot(p.Copied.Gradient.Values, k, p.pieces.slots)
}

// canMove says whether there is an answer to be taken or a free slot to be filled. Both stay so until
// it is done: passOn raises due, and send lowers room, last.
func (w *passing) canMove() bool {
	return w.underway.Load() && (w.room.Load() || w.isAnswered())
}

// isAnswered says whether an answer is there to be taken.
func (w *passing) isAnswered() bool {
	return int32(w.line.Given.Load()-w.due.Load()) >= 0 // #nosec G115 -- counters wrap
}

// passOn takes the answer that is there, and sends the next piece, unless there is none. It is
// true if that was the last answer. While no answer is there, it fills a free slot.
func (p *push) passOn() (over bool) {
	w, pieces := p.pieces, comm.PieceCount(p.op.Spec.Words())
	if !w.isAnswered() {
		if w.room.Load() { // or the server has taken an answer back
			p.send()
			p.link.client.server.Ring()
		}
		return false
	}
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
