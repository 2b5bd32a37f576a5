package op

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// byeGrace bounds the orderly end of a link whose peer no longer reads.
const byeGrace = time.Second

// ErrLeft is the cause of an operation's failure after a member has left in order.
var ErrLeft = errors.New("it left")

// Fail ends the link with err. It is false if the link had ended before: then err is a
// consequence, and Fail drops it. Pending operations stay pending until Finish.
func (l *Life) Fail(err error) bool {
	l.Mu.Lock()
	first := l.err == nil
	if first {
		l.err = err
		l.ended.Store(true) // before Mu is free: a reader of the error sees the end
	}
	l.Mu.Unlock()
	if first {
		l.end()
	}
	return first
}

// Retire ends the link at its owner's wish. It is true if the link had not ended and
// nothing was pending: then its memory is out of use.
func (l *Life) Retire() (orderly bool) {
	l.Mu.Lock()
	first := l.err == nil
	orderly = first && l.earliest() == nil
	if first {
		l.err = l.Closed()
		l.ended.Store(true)
	}
	l.Mu.Unlock()
	if first {
		l.end()
	}
	return orderly
}

// Leave closes the connections of a retired link. If the end was orderly, it first sends a last
// frame, from which the peer knows that this rank is not lost. Conns may be nil.
func Leave(orderly bool, conns ...*wire.Conn) (err error) {
	for _, c := range conns {
		if c == nil {
			continue
		}
		if orderly {
			_ = c.PostBy(time.Now().Add(byeGrace), &wire.Header{Op: wire.OpBye})
		}
		err = errors.Join(err, c.Close())
	}
	return err
}

// Closed is the error of operations on a closed link.
func (l *Life) Closed() error {
	return fmt.Errorf("%s has closed %s: %w", l.Self, l.Link, net.ErrClosed)
}

// Finish fails everything that is pending on a link that has ended. It is called once no
// goroutine of the link touches a gradient any more.
func (l *Life) Finish() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, o := range l.operations {
		l.End(o, l.err, comm.Now())
	}
}

// Earliest is the deadline that comes first, the zero time if nothing is pending; the
// caller holds Mu.
func (l *Life) Earliest() (deadline time.Time) {
	if o := l.earliest(); o != nil {
		deadline = o.Deadline
	}
	return deadline
}

// earliest is the pending operation whose deadline comes first, or nil; the caller holds Mu.
func (l *Life) earliest() *Operation {
	var first *Operation
	for _, o := range l.operations {
		if o.pending && (first == nil || o.Deadline.Before(first.Deadline)) {
			first = o
		}
	}
	return first
}

// Awaited is what the link waits for, for errors.
func (l *Life) Awaited() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if o := l.earliest(); o != nil {
		return l.Awaits + o.String()
	}
	return l.Idle
}

// Late is the error of a wait for what from peers that has met its deadline.
func (l *Life) Late(what string, peers ...string) error {
	return &comm.WaitError{Waiter: l.Self, For: peers, What: what, Seconds: l.Timeout.Seconds()}
}

// Watch reads the connection of a link that works by bells, over which nothing comes but
// its end, and returns that: nil if the peer left in order. during says what the link was
// being used for, and how long it may.
func Watch(c *wire.Conn, during func() string, timeout time.Duration) error {
	var h wire.Header
	switch err := c.NextHeader(&h); {
	case err != nil:
		return c.Explain(err, during(), int64(timeout))
	case h.Op != wire.OpBye:
		return fmt.Errorf("%s sent operation %d to %s over a link that works by bells", c.Peer(), h.Op, c.Self())
	}
	return nil
}
