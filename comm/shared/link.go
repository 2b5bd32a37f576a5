package shared

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// link is the trainer's side of a push/pull link through shared memory. A
// push is a store into its slot and a look at the server's bell; the server finds
// the gradient where it is and writes the answer there.
//
// A push in place moves no bytes by itself. One whose gradient lies outside the
// store is copied into the link's own segment and back.
type link struct {
	op.Buckets
	client client
	pushes []*push // by bucket index
	pushed uint32  // pushes of the link; guarded by Mu
}

// push is one bucket's place on a link.
type push struct {
	link   *link
	op     *op.Reduction
	line   *layout.PushLine
	stored *tensor.Bucket // of the store
	copied *tensor.Bucket // of the copies
	used   bool           // its pages are there
	place  int32          // of the push in flight
	posted bool           // the push in flight is in its slot
	seq    uint32         // of the last push
	ready  func() bool
}

func newLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (*link, error) {
	specs := store.Specs()
	l := &link{}
	l.client = client{Life: &l.Life, conn: conn, settle: l.settle}
	l.Init(conn.Self(), "the link to "+conn.Peer(), specs, timeout, func(r *op.Reduction) func() {
		return func() { l.client.await(&r.Operation, l.pushes[r.Spec.Index].ready) }
	})
	l.Awaits, l.Idle = "the answer to ", "a pause between pushes"
	if err := l.open(store, specs); err != nil {
		l.client.unmap()
		_ = conn.Close()
		return nil, err
	}
	lines := layout.PushLines(l.client.control, len(specs))
	i := -1
	l.pushes = op.ByIndex(specs, func(spec tensor.BucketSpec) *push {
		i++
		p := &push{
			link: l, op: l.Of(spec.Index), line: &lines[i],
			stored: store.Buckets[i], copied: l.client.copies.Buckets[i],
		}
		if store.Segment == nil {
			p.stored = p.copied
		}
		p.ready = func() bool { return p.line.Answered.Load() == p.seq || l.Ended() }
		return p
	})
	l.client.start()
	return l, nil
}

// open trades the link's segments for the server's doorbell.
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

// PushPull implements PushPuller. The future's error is a *WaitError at the
// deadline and a *PeerError if the server is gone; either ends the link.
func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	if p := op.At(l.pushes, b.Index); p != nil {
		p.settle() // nobody may have waited for the last answer
	}
	op, err := l.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	p, place := l.pushes[b.Index], layout.InStore
	if !b.Gradient.SameValues(&p.stored.Gradient) {
		place = layout.InCopies
		if err := p.copy(&b.Gradient); err != nil {
			l.Complete(&op.Operation)
			return comm.Completed(fmt.Errorf("%s, %s: %w", l.Self, op, err))
		}
	}
	p.at(place).ShowRows(b.Gradient.Rows)
	l.Mu.Lock() // a push is there before those of a higher order
	defer l.Mu.Unlock()
	p.seq++
	p.place, p.posted = place, true
	p.line.Order = l.pushed
	l.pushed++
	p.line.Place, p.line.Rows, p.line.Batch = p.place, int32(len(b.Gradient.Rows)), batch // #nosec G115 -- rows are int32
	p.line.PushedNS = comm.Now()
	p.line.Pushed.Store(p.seq)
	l.client.server.Ring()
	return op.Future()
}

// copy puts a gradient from elsewhere into the copies.
func (p *push) copy(g *tensor.Gradient) error {
	if !p.used {
		if err := layout.Reserve(p.link.Self, &p.op.Spec); err != nil {
			return err
		}
		p.used = true
	}
	return p.copied.Gradient.CopyFrom(g)
}

// at is the bucket of a place in shared memory.
func (p *push) at(place int32) *tensor.Bucket {
	if place == layout.InCopies {
		return p.copied
	}
	return p.stored
}

// settle takes the answer if it is there. The operation ended when the server
// answered, however late anybody looks.
func (p *push) settle() {
	l, op := p.link, p.op
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if !op.Pending() || !p.posted || l.Err() != nil || p.line.Answered.Load() != p.seq {
		return
	}
	p.posted = false
	endNS := p.line.AnswerNS
	err := p.take(op.Gradient)
	if p.place == layout.InCopies {
		endNS = comm.Now()
	}
	l.End(&op.Operation, err, endNS)
}

// take makes g the answer; in place its values are there already.
func (p *push) take(g *tensor.Gradient) error {
	from := p.at(p.place)
	if g.Sparse() {
		if err := from.TakeRows(int(p.line.Rows)); err != nil {
			return fmt.Errorf("%s answered %s: %w", p.link.client.conn.Peer(), p.op, err)
		}
	}
	if p.place == layout.InCopies {
		return g.CopyFrom(&from.Gradient)
	}
	*g = from.Gradient
	return nil
}

// settle takes the answers that are there, whether anybody looked or not.
func (l *link) settle() {
	for _, p := range l.pushes {
		if p != nil {
			p.settle()
		}
	}
}

// Close implements ServerLink. Closing again does nothing.
func (l *link) Close() error { return l.client.Close() }
