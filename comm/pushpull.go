package comm

import (
	"fmt"
	"sync"
	"time"
)

// ServerLink is the trainer's side of a push/pull link over a Conn: one
// goroutine sends pushes in the order of the calls, one reads answers, in
// whatever order they come, straight into the gradients they replace.
//
// A push and its answer cost one frame each: HeaderSize bytes and 4 bytes per
// element, or per row 4 bytes and 4*Width.
type ServerLink struct {
	operations
	conn       *Conn
	queue      chan *operation
	armed      time.Time // the read deadline in force; guarded by mu
	quit       chan struct{}
	stop       func() // closes quit
	senderDone chan struct{}
	done       chan struct{}
}

var _ PushPuller = (*ServerLink)(nil)

// NewServerLink starts a link that carries the given buckets over conn, which
// it owns from now on. Each push must be answered within timeout.
func NewServerLink(conn *Conn, buckets []BucketSpec, timeout time.Duration) *ServerLink {
	l := &ServerLink{
		operations: newOperations(conn.self, "the link to "+conn.peer, buckets, timeout),
		conn:       conn,
		queue:      make(chan *operation, len(buckets)),
		quit:       make(chan struct{}),
		senderDone: make(chan struct{}),
		done:       make(chan struct{}),
	}
	l.stop = sync.OnceFunc(func() { close(l.quit) })
	go l.send()
	go l.receive()
	return l
}

// PushPull implements PushPuller. The future's error is a *WaitError at the
// deadline and a *PeerError if the server is gone; either ends the link.
func (l *ServerLink) PushPull(batch int64, b *Bucket) *Future {
	op, err := l.begin(batch, b)
	if err != nil {
		return Completed(err)
	}
	l.arm()
	l.queue <- op // has room: each bucket is in it once at most
	return op.future
}

// Close ends the link and waits for its goroutines. With pushes unanswered,
// which then fail, that is no orderly end and the server sees a lost link.
func (l *ServerLink) Close() error {
	first := l.fail(l.closedError())
	if l.busy() {
		_ = l.conn.Close()
	}
	l.stop()
	<-l.senderDone
	if first {
		_ = l.conn.sendBy(time.Now().Add(byeGrace), &Header{Op: opBye})
	}
	err := l.conn.Close()
	<-l.done
	return err
}

// arm sets the read deadline to that of the earliest pending push.
func (l *ServerLink) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var deadline time.Time
	if op := l.earliest(); op != nil {
		deadline = op.deadline
	}
	if !deadline.Equal(l.armed) {
		l.armed = deadline
		_ = l.conn.SetReadDeadline(deadline) // fails only once closed, and then reads fail too
	}
}

// send runs until Close or the first error.
func (l *ServerLink) send() {
	defer close(l.senderDone)
	for {
		select {
		case <-l.quit:
			return
		case op := <-l.queue:
			g := l.take(op)
			h := Header{Op: opPush, Batch: op.batch, Bucket: int32(op.spec.Index), Rows: int32(len(g.Rows))} // #nosec G115 -- rows are int32
			if err := l.conn.sendBy(op.deadline, &h, Int32Bytes(g.Rows), Float32Bytes(g.Values)); err != nil {
				l.fail(l.conn.explainSend(err, "the push of "+op.String(), int64(l.timeout)))
				_ = l.conn.Close()
				return
			}
		}
	}
}

// take notes that op goes out and returns its gradient. It is a copy: a server
// that answers before it has the whole push must not pull it away.
func (l *ServerLink) take(op *operation) Gradient {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.sent = true
	return *op.gradient
}

func (l *ServerLink) receive() {
	defer close(l.done)
	var h Header
	for {
		err := l.conn.readHeader(&h)
		if err == nil {
			err = l.answer(&h)
		}
		if err != nil {
			l.fail(l.conn.explain(err, l.awaited(), int64(l.timeout)))
			break
		}
	}
	// The sender may still read a gradient, so it ends before their owners
	// learn that they have them back.
	l.stop()
	_ = l.conn.Close()
	<-l.senderDone
	l.finish()
}

// answer reads the answer that h announces.
func (l *ServerLink) answer(h *Header) error {
	op := at(l.slots, int(h.Bucket))
	if h.Op != opAnswer || op == nil || !l.awaits(op, h.Batch) {
		return fmt.Errorf("%s sent operation %d of batch %d, bucket %d to %s, which has no such push in flight", l.conn.peer, h.Op, h.Batch, h.Bucket, l.self)
	}
	if err := readGradient(l.conn, h, &op.spec, op.gradient); err != nil {
		return err
	}
	l.complete(op)
	l.arm()
	return nil
}

func (l *ServerLink) awaits(op *operation, batch int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return op.pending && op.sent && op.batch == batch
}

// awaited is what the receiver waits for.
func (l *ServerLink) awaited() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.earliest(); op != nil {
		return "the answer to " + op.String()
	}
	return "a pause between pushes"
}
