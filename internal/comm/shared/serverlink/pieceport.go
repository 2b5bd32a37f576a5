package serverlink

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// pieces is the port's view of a slot's push in pieces.
type pieces struct {
	arrival *arrival
	line    *layout.PieceLine
	copies  []float32 // the bucket's copies, which contain the slots
	count   int       // pieces per push
	passed  uint32    // pieces given, over all pushes
	given   int       // pieces of this push given
	slots   int       // number of slots that the trainer uses
}

func newPieces(a *arrival, line *layout.PieceLine) *pieces {
	return &pieces{arrival: a, line: line, copies: a.places[layout.InCopies].Gradient.Values,
		count: comm.PieceCount(a.spec.Elements)}
}

// nextPiece is a shm.Condition: the next piece has arrived, or will never
// arrive.
type nextPiece struct{ w *pieces }

func (n nextPiece) Met() bool {
	a := n.w.arrival
	return n.w.isThere() || a.port.Ended() || a.port.left[a.Trainer].Load()
}

// begin starts a push and checks its number of slots.
func (w *pieces) begin() error {
	said := w.line.Slots.Load()
	slots, ok := layout.SlotsSaid(said)
	if !ok {
		a, p := w.arrival, w.arrival.port
		return fmt.Errorf("%s pushed bucket %d to %s through %d slots instead of %d to %d", a.from(), a.Bucket, p.Self,
			said, layout.FirstPieces, layout.PieceSlots)
	}
	w.given, w.slots = 0, slots
	return nil
}

// isThere reports whether the next piece has arrived.
func (w *pieces) isThere() bool {
	return int32(w.line.Sent.Load()-(w.passed+1)) >= 0 // #nosec G115 -- counters wrap
}

// Fetch implements comm.Pieces.
func (w *pieces) Fetch() ([]float32, error) {
	a, p := w.arrival, w.arrival.port
	if w.given == w.count {
		return nil, fmt.Errorf("%s has given all %d pieces of %s to %s", p.Self, w.count,
			op.Describe(a.Batch, a.Bucket), a.from())
	}
	inTime := p.bell.Wait(nextPiece{w}, time.Now().Add(p.Timeout))
	switch {
	case p.Ended():
		return nil, a.refused()
	case w.isThere():
		return layout.Slot(w.copies, w.given, w.slots), nil
	case inTime:
		return nil, &comm.PeerError{Waiter: p.Self, Peer: a.from(), What: w.awaited(), Err: op.ErrLeft}
	default:
		return nil, &comm.WaitError{Waiter: p.Self, For: []string{a.from()}, What: w.awaited(),
			Seconds: p.Timeout.Seconds()}
	}
}

func (w *pieces) awaited() string {
	return fmt.Sprintf("piece %d of %s", w.given, op.Describe(w.arrival.Batch, w.arrival.Bucket))
}

// Give implements comm.Pieces.
func (w *pieces) Give(src []float32) error {
	slot, err := w.Fetch()
	if err != nil {
		return err
	}
	if len(src) != len(slot) {
		return fmt.Errorf("the answer to %s has %d values instead of %d", w.awaited(), len(src), len(slot))
	}
	if &src[0] != &slot[0] {
		copy(slot, src)
	}
	w.given++
	w.passed++
	w.line.Given.Store(w.passed)
	if layout.RingsAt(w.given, w.count, w.slots) {
		w.arrival.bell.Ring()
	}
	return nil
}

// giveAll ensures that all pieces of the answer g are given.
func (w *pieces) giveAll(g *tensor.Gradient) error {
	if g.SameValues(w.arrival.Gradient) {
		if w.given < w.count {
			return fmt.Errorf("%d of %d pieces of its answer were given", w.given, w.count)
		}
		return nil
	}
	for w.given < w.count {
		from, to := comm.PieceOf(len(g.Values), w.given)
		if err := w.Give(g.Values[from:to]); err != nil {
			return err
		}
	}
	return nil
}
