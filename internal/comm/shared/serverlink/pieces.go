package serverlink

import (
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// Pushes in pieces are for large gradients in ordinary memory and for servers
// that reduce piece by piece. The trainer copies pieces into slots of shared
// memory. The server reduces a piece once all trainers have sent it, and leaves
// the answer in the slot. The trainer copies the answer over its piece, and
// then the next piece into the slot.
//
// For a gradient of S bytes, each trainer reads 2*S and writes 2*S, half of it
// in its second-level cache; the server works entirely in its cache. Copies of
// the whole gradient move as many bytes, but all through memory. The kernel's
// single copy moves fewer bytes, but looks up every page twice.
//
// A waiter moves the pieces of all pushes. Without a waiter the mover does: see
// mover.

// passing is the state of a push in pieces. The pushing goroutine sends the
// first pieces, so that the server can begin. Afterwards only the holder of the
// mover's lock moves pieces and writes here; others read only the atomic
// fields.
type passing struct {
	line     *layout.PieceLine
	slots    int           // number of slots
	reserved bool          // the memory of the slots was checked
	passed   uint32        // pieces of earlier pushes
	sent     int           // pieces of this push sent
	taken    int           // pieces whose answers are in the gradient
	due      atomic.Uint32 // value of Given once the next answer has arrived
	room     atomic.Bool   // a slot is free for the next piece
	underway atomic.Bool   // an answer is still missing from the gradient
	takenNS  int64         // when the last answer was taken
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
	w.room.Store(w.sent < comm.PieceCount(p.op.Spec.Elements) && w.sent-w.taken < w.slots)
}

// piece returns piece k's range in the gradient and in its slot.
func (p *push) piece(k int) (here, slot []float32) {
	from, to := comm.PieceOf(p.op.Spec.Elements, k)
	return p.op.Gradient.Values[from:to], layout.Slot(p.Copied.Gradient.Values, k, p.pieces.slots)
}

// canMove reports whether an answer has arrived or a free slot can be filled.
// The result stays true until the piece has moved, because passOn raises due
// only at its end, and send lowers room only at its end.
func (w *passing) canMove() bool {
	return w.underway.Load() && (w.room.Load() || w.isAnswered())
}

// isAnswered reports whether the next answer has arrived.
func (w *passing) isAnswered() bool {
	return int32(w.line.Given.Load()-w.due.Load()) >= 0 // #nosec G115 -- counters wrap
}

// passOn copies the next answer into the gradient and sends the next piece, if
// there is one. passOn returns true after the last answer. If no answer has
// arrived, it fills a free slot.
func (p *push) passOn() (over bool) {
	w, pieces := p.pieces, comm.PieceCount(p.op.Spec.Elements)
	if !w.isAnswered() {
		if w.room.Load() { // false if the server took an answer back
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
