package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// sharedLink is the trainer's side of a push/pull link through shared memory. A
// push is a store into its slot and a look at the server's bell; the server finds
// the gradient where it is and writes the answer there.
//
// A push in place moves no bytes by itself. One whose gradient lies outside the
// store is copied into the link's own segment and back.
type sharedLink struct {
	operations
	conn    *Conn
	control *shm.Segment
	copies  *Store
	door    *shm.Segment // of the server
	bell    shm.Bell     // where this side sleeps
	server  shm.Bell
	pushes  []*sharedPush // by bucket index
	pushed  uint32        // pushes of the link; guarded by mu
	dead    atomic.Bool   // the link has failed or is closed
	watched chan struct{} // closed when nobody reads conn any more
	closing sync.Once
}

// sharedPush is one bucket's place on a sharedLink.
type sharedPush struct {
	link   *sharedLink
	op     *operation
	line   *pushLine
	stored *tensor.Bucket // of the store
	copied *tensor.Bucket // of the copies
	used   bool           // its pages are there
	place  int32          // of the push in flight
	posted bool           // the push in flight is in its slot
	seq    uint32         // of the last push
	ready  func() bool
}

func newSharedLink(conn *Conn, store *Store, timeout time.Duration) (*sharedLink, error) {
	specs := store.Specs()
	l := &sharedLink{
		operations: newOperations(conn.self, "the link to "+conn.peer, specs, timeout),
		conn:       conn, watched: make(chan struct{}),
	}
	if err := l.exchange(store, specs); err != nil {
		l.unmap()
		_ = conn.Close()
		return nil, err
	}
	l.bell, l.server = bellOf(l.control), bellOf(l.door)
	lines := pushLines(l.control, len(specs))
	l.pushes = make([]*sharedPush, len(l.slots))
	for i, spec := range specs {
		p := &sharedPush{
			link: l, op: l.slots[spec.Index], line: &lines[i],
			stored: store.Buckets[i], copied: l.copies.Buckets[i],
		}
		if store.segment == nil {
			p.stored = p.copied
		}
		p.ready = func() bool { return p.line.answered.Load() == p.seq || l.dead.Load() }
		p.op.future.await = p.await
		l.pushes[spec.Index] = p
	}
	go l.watch()
	return l, nil
}

// exchange makes the link's segments and trades them for the server's door.
func (l *sharedLink) exchange(store *Store, specs []tensor.BucketSpec) (err error) {
	if err := l.conn.bound(l.timeout); err != nil {
		return err
	}
	if l.control, err = shm.New(l.self+" control", pushControlSize(len(specs)), true); err != nil {
		return err
	}
	if l.copies, err = newSegmentStore(l.self+" copies", specs, false); err != nil {
		return err
	}
	stored := store.segment
	if stored == nil {
		stored = l.copies.segment
	}
	for _, s := range []*shm.Segment{l.control, stored, l.copies.segment} {
		if err := l.conn.SendSegment(s); err != nil {
			return err
		}
	}
	if l.door, err = l.conn.ReceiveSegment(pageBytes, false); err != nil {
		return err
	}
	return l.conn.lift()
}

// PushPull implements PushPuller. The future's error is a *WaitError at the
// deadline and a *PeerError if the server is gone; either ends the link.
func (l *sharedLink) PushPull(batch int64, b *tensor.Bucket) *Future {
	if p := at(l.pushes, b.Index); p != nil {
		p.settle() // nobody may have waited for the last answer
	}
	op, err := l.begin(batch, b)
	if err != nil {
		return Completed(err)
	}
	p, place := l.pushes[b.Index], inStore
	if !b.Gradient.SameValues(&p.stored.Gradient) {
		place = inCopies
		if err := p.copy(&b.Gradient); err != nil {
			l.complete(op)
			return Completed(fmt.Errorf("%s, %s: %w", l.self, op, err))
		}
	}
	p.at(place).ShowRows(b.Gradient.Rows)
	l.mu.Lock() // a push is there before those of a higher order
	defer l.mu.Unlock()
	p.seq++
	p.place, p.posted = place, true
	p.line.order = l.pushed
	l.pushed++
	p.line.place, p.line.rows, p.line.batch = p.place, int32(len(b.Gradient.Rows)), batch // #nosec G115 -- rows are int32
	p.line.pushedNS = Now()
	p.line.pushed.Store(p.seq)
	l.server.Ring()
	return op.future
}

// copy puts a gradient from elsewhere into the copies.
func (p *sharedPush) copy(g *tensor.Gradient) error {
	if !p.used {
		if err := p.link.copies.reserve(p.link.self, &p.op.spec); err != nil {
			return err
		}
		p.used = true
	}
	return p.copied.Gradient.CopyFrom(g)
}

// at is the bucket of a place in shared memory.
func (p *sharedPush) at(place int32) *tensor.Bucket {
	if place == inCopies {
		return p.copied
	}
	return p.stored
}

// await waits for the answer, unless somebody else has seen it.
func (p *sharedPush) await() {
	l := p.link
	l.mu.Lock()
	pending, deadline := p.op.pending, p.op.deadline
	l.mu.Unlock()
	if !pending {
		return
	}
	if l.bell.Wait(p.ready, deadline) {
		p.settle()
		return
	}
	l.abort(&WaitError{Waiter: l.self, For: []string{l.conn.peer}, What: "the answer to " + p.op.String(), Seconds: l.timeout.Seconds()})
}

// settle takes the answer if it is there. The operation ended when the server
// answered, however late anybody looks.
func (p *sharedPush) settle() {
	l, op := p.link, p.op
	l.mu.Lock()
	defer l.mu.Unlock()
	if !op.pending || !p.posted || l.err != nil || p.line.answered.Load() != p.seq {
		return
	}
	p.posted = false
	endNS, g := p.line.answerNS, op.gradient
	err := p.take(g)
	if p.place == inCopies {
		endNS = Now()
	}
	op.pending, op.gradient = false, nil
	op.future.completeAt(err, endNS)
}

// take makes g the answer; in place its values are there already.
func (p *sharedPush) take(g *tensor.Gradient) error {
	from := p.at(p.place)
	if g.Sparse() {
		if err := from.TakeRows(int(p.line.rows)); err != nil {
			return fmt.Errorf("%s answered %s: %w", p.link.conn.peer, p.op, err)
		}
	}
	if p.place == inCopies {
		return g.CopyFrom(&from.Gradient)
	}
	*g = from.Gradient
	return nil
}

// watch reads the connection, over which nothing comes but its end.
func (l *sharedLink) watch() {
	defer close(l.watched)
	var h Header
	err := l.conn.readHeader(&h)
	if err == nil {
		err = fmt.Errorf("%s sent operation %d over the link to %s, which carries bells", l.conn.peer, h.Op, l.self)
	}
	l.abort(l.conn.explain(err, l.awaited(), int64(l.timeout)))
}

func (l *sharedLink) awaited() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.earliest(); op != nil {
		return "the answer to " + op.String()
	}
	return "a pause between pushes"
}

// settleAll takes the answers that are there, whether anybody looked or not.
func (l *sharedLink) settleAll() {
	for _, p := range l.pushes {
		if p != nil {
			p.settle()
		}
	}
}

// abort fails the link and everything pending on it. Its memory stays mapped: a
// server that is only slow may still write an answer.
func (l *sharedLink) abort(err error) {
	l.settleAll()
	if !l.fail(err) {
		return
	}
	l.end()
	_ = l.conn.Close()
}

// end wakes who still waits and fails what is pending.
func (l *sharedLink) end() {
	l.dead.Store(true)
	l.bell.Shake()
	l.finish()
}

// Close implements ServerLink. Closing again does nothing.
func (l *sharedLink) Close() error {
	l.closing.Do(l.close)
	return nil
}

func (l *sharedLink) close() {
	l.settleAll()
	orderly := l.failIdle(l.closedError())
	l.end()
	if orderly {
		_ = l.conn.sendBy(time.Now().Add(byeGrace), &Header{Op: opBye})
	}
	_ = l.conn.Close()
	<-l.watched
	if orderly {
		l.unmap()
	}
}

// unmap gives the link's memory back; nobody may use it any more.
func (l *sharedLink) unmap() {
	for _, s := range []*shm.Segment{l.control, l.door} {
		if s != nil {
			_ = s.Close()
		}
	}
	if l.copies != nil {
		_ = l.copies.Close()
	}
}
