// Package op is the life of what is pending on a link or a port, whatever carries it: its
// deadline, the error that ends the link, the peer that died, and who waits for whom.
package op

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/wire"
)

// ByeGrace bounds the orderly end of a link whose peer no longer reads.
const ByeGrace = time.Second

// ErrLeft is why the operation of a group failed of which a member is gone in order.
var ErrLeft = errors.New("it left the group")

// Operation is a place on a link for one thing at a time: the reduction of a bucket, a
// barrier, a call of a table. It is used again for every batch.
type Operation struct {
	*comm.Promise
	name  func(batch int64) string
	ended func() // if it is set, told of each end

	// Set by Start, valid until the end.
	Batch    int64
	Deadline time.Time
	pending  bool
}

// NewOperation makes an operation that errors call by name, which a waiter carries on by
// drive and whose ends are told to ended, with the lock of its link held; both may be nil.
func NewOperation(name func(batch int64) string, drive, ended func()) Operation {
	return Operation{Promise: comm.NewPromise(drive), name: name, ended: ended}
}

func (o *Operation) String() string { return o.name(o.Batch) }

// Life is what all links share, whatever carries them: what is pending on the link, until
// when, and the error that ended it. A link that has ended stays so: its connection may
// have stopped in the middle of a frame, and a neighbour that is only slow may still
// write into its memory.
type Life struct {
	Self    string        // the rank at this end
	Link    string        // what the link is, in errors: "the link to server2"
	Timeout time.Duration // from the start of an operation to its end
	// Awaits starts, in errors, what the link waits for: "the answer to ". Idle is what it
	// waits for while nothing is pending.
	Awaits, Idle string
	// Wake, if it is set, wakes whoever waits for the link once it has ended.
	Wake func()

	Mu         sync.Mutex // guards what is pending
	operations []*Operation
	err        error
	ended      atomic.Bool
}

// Add gives the link an operation, at set-up.
func (l *Life) Add(o *Operation) { l.operations = append(l.operations, o) }

// Err is what ended the link, or nil; the caller holds Mu.
func (l *Life) Err() error { return l.err }

// Ended says whether the link has.
func (l *Life) Ended() bool { return l.ended.Load() }

// Start makes o pending, unless it is; the caller holds Mu and has looked at Err.
func (l *Life) Start(o *Operation, batch int64) bool {
	if !o.Begin() {
		return false
	}
	o.pending, o.Batch, o.Deadline = true, batch, time.Now().Add(l.Timeout)
	return true
}

// Pending says whether o is; the caller holds Mu.
func (o *Operation) Pending() bool { return o.pending }

// Due says whether o is pending, and until when.
func (l *Life) Due(o *Operation) (deadline time.Time, pending bool) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return o.Deadline, o.pending
}

// Complete ends o without error.
func (l *Life) Complete(o *Operation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.End(o, nil, comm.Now())
}

// End ends o, if it is pending, as of some time in ns of Now; the caller holds Mu.
func (l *Life) End(o *Operation, err error, endNS int64) {
	if !o.pending {
		return
	}
	o.pending = false
	if o.ended != nil {
		o.ended()
	}
	o.CompleteAt(err, endNS)
}

// Fail ends the link with err. It is false if the link has ended before, in which case err
// is a consequence and forgotten. What is pending stays so until Finish.
func (l *Life) Fail(err error) bool {
	l.Mu.Lock()
	first := l.err == nil
	if first {
		l.err = err
	}
	l.Mu.Unlock()
	if first {
		l.end()
	}
	return first
}

// Retire ends the link at its owner's wish. It is true if the link had not ended and
// nothing was pending, so that nobody uses its memory any more.
func (l *Life) Retire() (orderly bool) {
	l.Mu.Lock()
	first := l.err == nil
	orderly = first && l.earliest() == nil
	if first {
		l.err = l.Closed()
	}
	l.Mu.Unlock()
	if first {
		l.end()
	}
	return orderly
}

func (l *Life) end() {
	l.ended.Store(true)
	if l.Wake != nil {
		l.Wake()
	}
}

// Closed is the error of whoever uses a link that was closed.
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
