package shared

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// link is the trainer's side of a push/pull link through shared memory. A
// push is a store into its slot and a look at the server's bell; the server finds
// the gradient where it is and writes the answer there.
//
// A push in place moves no bytes by itself. One whose gradient lies outside the
// store the server reads and writes in this process's memory, if it is large and the kernel
// allows it; else it is copied into the link's own segment and back.
type link struct {
	op.Buckets
	client client
	probe  probe   // of this process's memory, for the server alone
	pushes []*push // by bucket index
	pushed uint32  // pushes of the link; guarded by Mu
}

// remoteElements is the least gradient that the server reads and writes in the process,
// 4 MiB: copies of smaller ones stay in the trainers' caches, and all make theirs at once.
const remoteElements = 1 << 20

// push is the pushes of one bucket, one after the other.
type push struct {
	layout.Window
	link   *link
	op     *op.Reduction
	line   *layout.PushLine
	posted bool   // the push in flight is in its slot
	seq    uint32 // of the last push
	ready  func() bool
}

func newLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (*link, error) {
	specs := store.Specs()
	l := &link{}
	l.client = client{Life: &l.Life, conn: conn, reap: l.reap, abandon: l.abandon}
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
		p := &push{link: l, op: l.Of(spec.Index), line: &lines[i]}
		p.Stored, p.Copied = store.Buckets[i], l.client.copies.Buckets[i]
		if store.Segment == nil {
			p.Stored = p.Copied
		}
		p.ready = func() bool { return p.line.Answered.Load() == p.seq || l.Ended() }
		return p
	})
	l.client.start()
	return l, nil
}

// open exchanges the link's segments for the server's doorbell.
func (l *link) open(store *comm.Store, specs []tensor.BucketSpec) (err error) {
	if l.client.copies, err = layout.NewStore(l.Self+" copies", specs, false); err != nil {
		return err
	}
	stored := store.Segment
	if stored == nil {
		stored = l.client.copies.Segment
	}
	lay := func(control *shm.Segment) { l.probe = newProbe(1, layout.PushProbe(control)) }
	return l.client.open(layout.PushControlBytes(len(specs)), lay, stored, l.client.copies.Segment)
}

// PushPull implements PushPuller. The future's error is a *WaitError at the
// deadline and a *PeerError if the server is gone; either ends the link.
func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	if p := op.At(l.pushes, b.Index); p != nil {
		p.reap() // nobody may have waited for the last answer
	}
	op, err := l.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	p := l.pushes[b.Index]
	p.Locate(&b.Gradient)
	if p.Place == layout.InCopies && !b.Sparse && b.Elements >= remoteElements && l.probe.reachedBy(0) {
		p.Place = layout.InProcess
	} else if err := p.Show(l.Self, &b.Gradient); err != nil {
		l.Complete(&op.Operation)
		return comm.Completed(fmt.Errorf("%s, %s: %w", l.Self, op, err))
	}
	l.Mu.Lock() // a push is there before those of a higher order
	defer l.Mu.Unlock()
	p.seq++
	p.posted = true
	p.line.Order = l.pushed
	l.pushed++
	p.line.Place, p.line.Rows, p.line.Batch = p.Place, int32(len(b.Gradient.Rows)), batch // #nosec G115 -- rows are int32
	p.line.Address = addressOfValues(&b.Gradient)
	p.line.PushedNS = comm.Now()
	p.line.Pushed.Store(p.seq)
	l.client.server.Ring()
	return op.Future()
}

// reap ends the push if its answer is there, as of when the server gave it, however late
// anybody looks.
func (p *push) reap() {
	l, op := p.link, p.op
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if !op.Pending() || !p.posted || l.Err() != nil || p.line.Answered.Load() != p.seq {
		return
	}
	p.posted = false
	endNS := p.line.AnswerNS
	err := p.pull(op.Gradient)
	if p.Place == layout.InCopies {
		endNS = comm.Now()
	}
	l.End(&op.Operation, err, endNS)
}

// pull makes g the answer.
func (p *push) pull(g *tensor.Gradient) error {
	if g.Sparse() {
		if err := p.Bucket().TakeRows(int(p.line.Rows)); err != nil {
			return fmt.Errorf("%s answered %s: %w", p.link.client.conn.Peer(), p.op, err)
		}
	}
	return p.Fetch(g)
}

// abandon keeps what the server may still work on.
func (l *link) abandon() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, p := range l.pushes {
		if p != nil && p.posted && p.Place == layout.InProcess {
			abandon(p.op.Gradient.Values)
		}
	}
}

// reap ends the pushes whose answers are there.
func (l *link) reap() {
	for _, p := range l.pushes {
		if p != nil {
			p.reap()
		}
	}
}

// Close implements ServerLink. Closing again does nothing.
func (l *link) Close() error { return l.client.Close() }
