package shared

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/tensor"
)

// A trainer whose server has no other trainer passes a large gradient in ordinary memory to
// and fro in pieces: it copies a piece into shared memory, the server takes it through its
// steps, and the trainer copies the answer back, into the memory from which it has just read.
// The few slots for pieces stay in the second-level cache, so that a push of S bytes reads S
// bytes of memory and writes S, as copying a gradient onto another does, but no bytes for the
// copies; the server works on one piece while the trainer copies the other. The kernel's
// single copy reads and writes as much, and looks every page up twice.
//
// Where there are several trainers, their pieces would pass between cores and have all wait
// for all at each of them; single copy is faster there.

// piecesFrom is the least gradient, in elements, that is passed in pieces, 1 MiB.
const piecesFrom = 8 * comm.PieceElements

// passing is a push in pieces. Who holds the link's Mu carries it on: waiters do.
type passing struct {
	lines    [layout.PieceSlots]*layout.PushLine // of the slots; piece k is in slot k modulo their count
	reserved bool                                // there is room for the slots
	sent     int                                 // pieces
	taken    int                                 // whose answers are in the gradient
	due      atomic.Uint32                       // the slot whose answer is next
}

// due is the line where the next answer to the push in flight appears.
func (p *push) due() *layout.PushLine { return p.passing.lines[p.passing.due.Load()] }

// passesPieces says whether the push of b, which is not in the store, goes in pieces.
func (l *link) passesPieces(b *tensor.Bucket) bool {
	return l.inPieces && !b.Sparse && b.Elements >= piecesFrom
}

// reserve makes room for pieces at the first use.
func (p *push) reserve() error {
	if p.passing.reserved {
		return nil
	}
	if err := layout.ReservePieces(p.link.Self, &p.op.Spec); err != nil {
		return err
	}
	p.passing.reserved = true
	return nil
}

// passFirst posts the first pieces of a push; l.Mu is held.
func (p *push) passFirst() {
	p.passing.sent, p.passing.taken = 0, 0
	p.passing.due.Store(0)
	for range layout.PieceSlots {
		p.passNext()
	}
}

// passNext posts the next piece, if there is one.
func (p *push) passNext() {
	k, w := p.passing.sent, &p.passing
	if k == comm.Pieces(p.op.Spec.Elements) {
		return
	}
	here, there := p.piece(k)
	copy(there, here)
	line := w.lines[k%layout.PieceSlots]
	line.Piece = int32(k) // #nosec G115 -- a count of pieces
	w.sent++
	p.post(line)
}

// passOn takes the answers that are there and posts further pieces in their slots; l.Mu is
// held. Each has as long as a push, for it may be that nobody has waited for a while.
func (p *push) passOn() {
	w := &p.passing
	for w.taken < w.sent {
		if line := p.due(); line.Answered.Load() != line.Pushed.Load() {
			return
		}
		here, there := p.piece(w.taken)
		copy(here, there)
		w.taken++
		p.passNext()
		w.due.Store(uint32(w.taken % layout.PieceSlots)) // #nosec G115 -- a slot
		p.op.Deadline = time.Now().Add(p.link.Timeout)
	}
	p.posted = false
	p.link.End(&p.op.Operation, nil, comm.Now())
}

// piece is piece k in the gradient and in its slot.
func (p *push) piece(k int) (here, there []float32) {
	from, to := pieceOf(p.op.Spec.Elements, k)
	return p.op.Gradient.Values[from:to], layout.Slot(p.Copied.Gradient.Values, k%layout.PieceSlots, to-from)
}

// pieceOf is from where to where piece k reaches.
func pieceOf(elements, k int) (from, to int) {
	return k * comm.PieceElements, min((k+1)*comm.PieceElements, elements)
}

// pieceArrival is what a slot of a port needs for pieces.
type pieceArrival struct {
	slot     int
	next     int // piece that is due here
	gradient tensor.Gradient
}

// validatePiece checks what a trainer says of a piece, and finds it.
func (a *arrival) validatePiece(pushed uint32) error {
	p, line, w := a.port, a.line, &a.piece
	k, pieces := int(line.Piece), comm.Pieces(a.spec.Elements)
	switch {
	case !p.inPieces() || a.spec.Sparse || a.spec.Elements < piecesFrom:
		return fmt.Errorf("%s pushed bucket %d to %s in pieces, which %s does not take", a.from(), a.Bucket, p.Self, p.Self)
	case k != w.next:
		return fmt.Errorf("%s pushed piece %d of %s to %s where piece %d is due", a.from(), k, op.Describe(line.Batch, a.Bucket), p.Self, w.next)
	}
	from, to := pieceOf(a.spec.Elements, k)
	if w.next += layout.PieceSlots; w.next >= pieces {
		w.next = w.slot
	}
	w.gradient.Values = layout.Slot(a.places[layout.InCopies].Gradient.Values, w.slot, to-from)
	a.take(pushed, &w.gradient, k, pieces)
	return nil
}
