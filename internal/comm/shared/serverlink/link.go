// Package serverlink implements both ends of the links between trainers and
// their servers: pushes of buckets, and calls to tables.
package serverlink

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/lent"
	"github.com/psbench/psbench/internal/comm/wire"
)

// link is the trainer's side of a push/pull link through shared memory. For a
// push, the trainer stores into its slot and checks the server's bell. The
// server works on the gradient where it lies and writes the answer there.
//
// A push in place moves no bytes. A gradient outside the store goes through the
// link's own segment: piece by piece if it is large and the server takes
// pieces. Otherwise the link copies the whole gradient there and back.
type link struct {
	op.Buckets
	client client
	mover  mover
	lent   lent.End
	pushes []*push // by bucket index
	pushed uint32  // number of pushes; guarded by Mu
}

// push handles the pushes of one bucket, one after the other.
type push struct {
	layout.Window
	link   *link
	op     *op.Reduction
	line   *layout.PushLine
	posted bool          // the push in flight is in its slot
	seq    atomic.Uint32 // sequence of the last push
	pieces *passing      // nil if the bucket never goes in pieces
	// ordinal is the bucket's index among the specs. ordinal is set for a
	// bucket that may stay on a device.
	ordinal int
}

// New starts a trainer's link to its server, on which a push is a store into a
// slot. The link owns the connection, also after an error. With a device,
// values stay in its memory if the server shares it too.
func New(
	conn *wire.Conn, store *comm.Store, timeout time.Duration, device comm.Device,
) (comm.ServerLink, error) {
	return newLink(conn, store, timeout, device)
}

func newLink(conn *wire.Conn, store *comm.Store, timeout time.Duration, device comm.Device) (*link, error) {
	specs := store.Specs()
	l := &link{}
	l.client = client{Life: &l.Life, link: l, terms: l, carrier: &l.mover, conn: conn}
	l.InitPushes(conn, specs, timeout, func(r *op.Reduction) func() {
		return func() {
			l.mover.attend()
			l.client.await(&r.Operation, progress{l.pushes[r.Spec.Index]})
			l.mover.leave()
		}
	})
	l.lent.Join(device, specs, store.Lent)
	if err := l.open(store, specs); err != nil {
		_ = l.lent.Close() // the first error is the one to return
		l.client.unmap()
		_ = conn.Close()
		return nil, err
	}
	lines, pieceLines := layout.PushLines(l.client.control, len(specs)), layout.PieceLines(l.client.control, len(specs))
	offered := layout.PushTerms(l.client.control).TakesPieces.Load()
	i := -1
	l.pushes = op.ByIndex(specs, func(spec tensor.BucketSpec) *push {
		i++
		p := &push{link: l, op: l.Of(spec.Index), line: &lines[i]}
		p.Stored, p.Copied = store.Buckets[i], l.client.copies.Buckets[i]
		if store.Segment == nil {
			p.Stored = p.Copied
		}
		if l.lent.Staged == "" {
			p.Lent, p.ordinal = store.Lent[i], i
		}
		if offered > 0 && layout.GoesInPieces(&spec) {
			p.pieces = newPassing(&pieceLines[i], layout.SlotsOf(offered))
		}
		return p
	})
	l.client.start()
	l.mover.start(l)
	return l, nil
}

// open sends the link's segments to the server and receives the server's
// doorbell.
func (l *link) open(store *comm.Store, specs []tensor.BucketSpec) (err error) {
	if l.client.copies, err = layout.NewStore(l.Self+" copies", specs, false); err != nil {
		return err
	}
	stored := store.Segment
	if stored == nil {
		stored = l.client.copies.Segment
	}
	return l.client.open(layout.PushControlBytes(len(specs)), stored, l.client.copies.Segment)
}

// PushPull implements comm.PushPuller. The future's error is a *WaitError at
// the deadline and a *PeerError if the server is gone; either ends the link.
func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	if err := op.RequireFloat32(l.Self, b); err != nil {
		return comm.Completed(err)
	}
	if p := op.At(l.pushes, b.Index); p != nil {
		p.reap() // the last answer may have had no waiter
	}
	op, err := l.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	p := l.pushes[b.Index]
	if err := p.show(b); err != nil {
		l.Complete(&op.Operation)
		return comm.Completed(fmt.Errorf("%s, %s: %w", l.Self, op, err))
	}
	p.post(batch, len(b.Gradient.Rows))
	return op.Future()
}

// show puts b's data, or its first pieces, where the server will read them.
func (p *push) show(b *tensor.Bucket) error {
	p.Locate(&b.Gradient)
	if p.Place == layout.InCopies && p.pieces != nil {
		p.Place = layout.InPieces
		return p.passFirst()
	}
	if p.Place == layout.OnDevice {
		if err := p.link.lent.Device.Give(p.ordinal); err != nil {
			return err
		}
	}
	return p.Show(p.link.Self, &b.Gradient)
}

// post notifies the server of the push.
func (p *push) post(batch int64, rows int) {
	l := p.link
	l.Mu.Lock() // pushes must appear in the order of their numbers
	defer l.Mu.Unlock()
	p.posted = true
	p.line.Order = l.pushed
	l.pushed++
	p.line.Place, p.line.Rows, p.line.Batch = p.Place, int32(rows), batch // #nosec G115 -- rows are int32
	p.line.PushedNS = comm.Now()
	p.line.Pushed.Store(p.seq.Add(1))
	l.client.server.Ring()
}

// answered reports whether the whole answer to the last push has arrived.
func (p *push) answered() bool {
	return p.line.Answered.Load() == p.seq.Load() && (p.pieces == nil || !p.pieces.underway.Load())
}

// progress is a shm.Condition: a piece can be moved, the push is answered, or the link has ended.
type progress struct{ p *push }

// Met checks for pieces before it checks for the answer. While another waiter
// takes the last piece, two states follow each other: the piece can be moved,
// and then the push is answered. With the checks in the other order Met could
// miss both states, and the bell would not ring again.
func (w progress) Met() bool { return w.p.link.mover.canMove() || w.p.link.Ended() || w.p.answered() }

// reap completes the push if its answer has arrived, with the server's time
// stamp.
func (p *push) reap() {
	l, op := p.link, p.op
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if !op.Pending() || !p.posted || l.Err() != nil || !p.answered() {
		return
	}
	p.posted = false
	endNS := p.line.AnswerNS
	err := p.pull(op.Gradient)
	switch p.Place {
	case layout.InCopies:
		endNS = comm.Now()
	case layout.InPieces:
		endNS = max(endNS, p.pieces.takenNS)
	}
	l.End(&op.Operation, err, endNS)
}

// pull sets g to the answer.
func (p *push) pull(g *tensor.Gradient) error {
	if g.Sparse() {
		if err := p.Bucket().TakeRows(int(p.line.Rows)); err != nil {
			return fmt.Errorf("%s answered %s: %w", p.link.client.conn.Peer(), p.op, err)
		}
	}
	return p.Fetch(g)
}

// reap moves pushes in pieces on, and completes the pushes whose answers have
// arrived.
func (l *link) reap() {
	l.mover.carry()
	for _, p := range l.pushes {
		if p != nil {
			p.reap()
		}
	}
}

// Close implements comm.ServerLink. Closing again does nothing.
func (l *link) Close() error {
	l.lent.Over()
	return l.client.Close()
}
