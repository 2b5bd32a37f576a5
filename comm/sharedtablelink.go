package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm/shm"
)

// sharedTableLink is a TableLink through shared memory. A call is a store into its
// slot and a look at the server's bell; the server works in the trainer's
// LookupStore.
type sharedTableLink struct {
	tableCalls
	conn    *Conn
	control *shm.Segment
	door    *shm.Segment // of the server
	bell    shm.Bell     // where this side sleeps
	server  shm.Bell
	line    *callLine
	seq     uint32 // of the last call
	ready   func() bool
	dead    atomic.Bool   // the link has failed or is closed
	watched chan struct{} // closed when nobody reads conn any more
	closing sync.Once
}

func newSharedTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) (*sharedTableLink, error) {
	l := &sharedTableLink{tableCalls: newTableCalls(conn, store, table, timeout), conn: conn, watched: make(chan struct{})}
	if err := l.exchange(); err != nil {
		l.unmap()
		_ = conn.Close()
		return nil, err
	}
	l.bell, l.server, l.line = bellOf(l.control), bellOf(l.door), callLineOf(l.control)
	l.ready = func() bool { return l.line.answered.Load() == l.seq || l.dead.Load() }
	for kind, future := range l.futures {
		future.await = func() { l.await(callKind(kind)) } // #nosec G115 -- one of two
	}
	go l.watch()
	return l, nil
}

// exchange trades the link's control segment and the store for the server's door.
func (l *sharedTableLink) exchange() (err error) {
	if l.store.segment == nil {
		return fmt.Errorf("%s cannot share its lookups with %s: they are not in shared memory", l.self, l.peer)
	}
	if err := l.conn.bound(l.timeout); err != nil {
		return err
	}
	if l.control, err = shm.New(l.self+" control", callControlSize(), true); err != nil {
		return err
	}
	for _, s := range []*shm.Segment{l.control, l.store.segment} {
		if err := l.conn.SendSegment(s); err != nil {
			return err
		}
	}
	if l.door, err = l.conn.ReceiveSegment(pageBytes, false); err != nil {
		return err
	}
	return l.conn.lift()
}

// Lookup implements TableLink.
func (l *sharedTableLink) Lookup(batch int64) *Future { return l.start(callLookup, batch) }

// Update implements TableLink.
func (l *sharedTableLink) Update(batch int64) *Future { return l.start(callUpdate, batch) }

func (l *sharedTableLink) start(kind callKind, batch int64) *Future {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle() // nobody may have waited for the last answer
	if err := l.begin(kind, batch); err != nil {
		return Completed(err)
	}
	line := l.line
	line.kind, line.batch = int32(kind), batch
	line.bags, line.indices = int64(l.store.bags()), int64(len(l.store.indices))
	line.postedNS = Now()
	l.seq++
	line.posted.Store(l.seq)
	l.server.Ring()
	return l.futures[kind]
}

// await waits for the answer to a call of this kind, unless somebody else has seen
// it.
func (l *sharedTableLink) await(kind callKind) {
	l.mu.Lock()
	pending, deadline := l.pending && l.kind == kind, l.deadline
	l.mu.Unlock()
	if !pending {
		return
	}
	if !l.bell.Wait(l.ready, deadline) {
		l.abort(&WaitError{Waiter: l.self, For: []string{l.peer}, What: l.awaited(), Seconds: l.timeout.Seconds()})
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// settle takes the answer if it is there. The call ended when the server answered,
// however late anybody looks. The caller holds mu.
func (l *sharedTableLink) settle() {
	if l.err == nil && l.line.answered.Load() == l.seq {
		l.end(nil, l.line.answerNS)
	}
}

// watch reads the connection, over which nothing comes but its end.
func (l *sharedTableLink) watch() {
	defer close(l.watched)
	var h Header
	err := l.conn.readHeader(&h)
	if err == nil {
		err = fmt.Errorf("%s sent operation %d over the link to %s, which carries bells", l.peer, h.Op, l.self)
	}
	l.abort(l.conn.explain(err, l.awaited(), int64(l.timeout)))
}

// abort fails the link and the call in flight. Its memory stays mapped: a server that
// is only slow may still write.
func (l *sharedTableLink) abort(err error) {
	l.mu.Lock()
	l.settle()
	l.mu.Unlock()
	if l.fail(err) {
		l.release()
		_ = l.conn.Close()
	}
}

// release wakes who still waits and fails the call in flight.
func (l *sharedTableLink) release() {
	l.dead.Store(true)
	l.bell.Shake()
	l.finish()
}

// Close implements TableLink. Closing again does nothing.
func (l *sharedTableLink) Close() error {
	l.closing.Do(l.close)
	return nil
}

func (l *sharedTableLink) close() {
	l.mu.Lock()
	l.settle()
	l.mu.Unlock()
	orderly := l.failIdle()
	l.release()
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
func (l *sharedTableLink) unmap() {
	for _, s := range []*shm.Segment{l.control, l.door} {
		if s != nil {
			_ = s.Close()
		}
	}
}
