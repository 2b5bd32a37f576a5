package op

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// byeGrace is the timeout for sending the last frame of an orderly end, in case
// the peer no longer reads.
const byeGrace = time.Second

// ErrLeft is the cause if an operation fails because a member left in order.
var ErrLeft = errors.New("it left")

// Fail ends the link with err. If the link had already ended, Fail returns
// false and drops err, which is only a consequence. Pending operations stay
// pending until Finish.
func (l *Life) Fail(err error) bool {
	l.Mu.Lock()
	first := l.err == nil
	if first {
		l.err = err
		l.ended.Store(true) // set while Mu is held, so a reader of err also sees the end
	}
	l.Mu.Unlock()
	if first {
		l.end()
	}
	return first
}

// Retire ends the link for its owner. Retire returns true if the link had not
// ended and nothing was pending; then nothing uses the link's memory any more.
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

// Leave closes the connections of a retired link. After an orderly end it first
// sends a last frame, so that the peer does not report this rank as lost.
// Elements of conns may be nil.
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

// Closed returns the error of operations on a closed link.
func (l *Life) Closed() error {
	return fmt.Errorf("%s has closed %s: %w", l.Self, l.Link, net.ErrClosed)
}

// Finish fails all pending operations of a link that has ended. Call it once no
// goroutine of the link touches a gradient any more.
func (l *Life) Finish() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, o := range l.operations {
		l.End(o, l.err, comm.Now())
	}
}

// Earliest returns the earliest deadline of the pending operations, or the zero
// time if nothing is pending. The caller holds Mu.
func (l *Life) Earliest() (deadline time.Time) {
	if o := l.earliest(); o != nil {
		deadline = o.Deadline
	}
	return deadline
}

// earliest returns the pending operation with the earliest deadline, or nil.
// The caller holds Mu.
func (l *Life) earliest() *Operation {
	var first *Operation
	for _, o := range l.operations {
		if o.pending && (first == nil || o.Deadline.Before(first.Deadline)) {
			first = o
		}
	}
	return first
}

// Awaited describes what the link is waiting for, for errors.
func (l *Life) Awaited() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if o := l.earliest(); o != nil {
		return l.Awaits + o.String()
	}
	return l.Idle
}

// Late returns the error of a wait that reached its deadline. what names the
// awaited message, and peers are the late ranks.
func (l *Life) Late(what string, peers ...string) error {
	return &comm.WaitError{Waiter: l.Self, For: peers, What: what, Seconds: l.Timeout.Seconds()}
}

// Watch waits for the end of the connection of a link that signals by bells.
// Such a connection carries nothing but the peer's last frame. Watch returns
// nil if the peer left in order. If the connection breaks, the error contains
// during(), which describes the link's current use. A *WaitError also contains
// the timeout.
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
