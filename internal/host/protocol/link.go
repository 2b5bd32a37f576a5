package protocol

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/numeral"
)

// link is a host's side of the link to the part in a companion. A goroutine, the reader, reads the
// part's frames. It hands answers to the caller, and frames that only this kind of part sends to take.
// Which goroutine reads depends on the part:
//
//   - If the part may send at any time, only the reader reads.
//   - If it only answers calls, the caller reads, and the reader checks now and then for an
//     unexpected frame.
//   - If it sends only frames that it owes, the reader or a waiter reads while something is owed.
//
// Each owed frame has a deadline. The reader uses the deadline of the oldest one, so no other goroutine
// watches the clock. An error ends the link and fails all that is owed.
type link struct {
	process *process.Process
	conn    *wire.Conn
	kind

	sharing sync.Mutex // held while a segment is numbered and sent

	mu       sync.Mutex
	segments []*segment       // by number
	tensors  map[place][]byte // that the part has announced
	guards   map[place][]byte // canaries behind tensors of the host
	err      error            // why it ended; nil before
	debts    []*debt
	armed    time.Time // the deadline in force
	calling  debt      // the answer to a call
	pending  wire.Op   // the operation of the open call; 0: there is none

	answers chan wire.Header
	text    []byte        // of the answer that was handed over last; set only while a call awaits one
	closed  chan struct{} // closed once err is set
	read    chan struct{} // closed when the reader has ended

	wanted  chan struct{} // something is owed; nil unless the reader waits for that
	reading sync.Mutex    // held while a goroutine reads, unless only the reader may
	frame   wire.Header   // the last one; reading guards it, too
	over    bool          // nothing will be read any more
}

// kind is what of a link differs by the kind of its part.
type kind struct {
	gradients int                        // that come between a call and its answer, at most
	announces map[role]int               // tensors of the part: how many of each role, at most
	take      func(h *wire.Header) error // what is neither an answer nor common to all kinds; nil where there is none
	debtor    bool                       // what take is given was owed
	ended     func(err error)            // fails what is pending; may be nil
}

// dial joins a companion.
func dial(p *process.Process, peer process.Peer, k kind) (*link, error) {
	peer.Address = wire.Unix.Name() + ":" + peer.Address // it gives a path
	l := &link{process: p, kind: k, answers: make(chan wire.Header, k.gradients+1), closed: make(chan struct{}),
		read: make(chan struct{})}
	l.tensors, l.guards = map[place][]byte{}, map[place][]byte{}
	l.owes(&l.calling)
	read, err := l.readAll, error(nil)
	if l.take == nil || l.debtor {
		read = l.readDebts
		l.conn, err = p.DialDirect(peer, process.PurposePart, look)
	} else {
		l.conn, err = p.Dial(peer, process.PurposePart)
	}
	if err != nil {
		return nil, blame(peer.Name, err)
	}
	if l.debtor {
		l.wanted = make(chan struct{}, 1)
	}
	go read()
	p.Own(l)
	return l, nil
}

// boundaryPings is how often the cost of crossing is measured.
const boundaryPings = 200

// ping measures the median round trip of a no-op call.
func (l *link) ping() (tripNS int64, err error) {
	trips := make([]float64, boundaryPings)
	for i := range trips {
		h := wire.Header{Op: opPing, Arg: int64(i)}
		start := comm.Now()
		answer, err := l.call(&h)
		if err != nil {
			return 0, err
		}
		trips[i] = float64(comm.Now() - start)
		if answer.Arg != h.Arg {
			return 0, l.fail(l.wrong("answered ping %d with %d", h.Arg, answer.Arg))
		}
	}
	return int64(numeral.Median(trips)), nil
}

// call sends a call and waits for its answer.
func (l *link) call(h *wire.Header) (answer wire.Header, err error) {
	if err := l.begin(h); err != nil {
		return answer, err
	}
	return l.next()
}

// begin sends a call, whose answer and what comes before it next gives. One goroutine at a time
// calls.
func (l *link) begin(h *wire.Header) error {
	l.mu.Lock()
	l.expect(&l.calling, h)
	l.mu.Unlock()
	if l.take == nil {
		l.readEarly() // by the deadline of the call
	}
	l.mu.Lock()
	err := l.err
	if err == nil {
		l.pending = h.Op
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.send(h)
}

// next waits for the next frame of the call.
func (l *link) next() (wire.Header, error) {
	if l.take == nil {
		l.reading.Lock()
		for len(l.answers) == 0 && l.readOne() {
		}
		l.reading.Unlock()
	}
	h, ok := <-l.answers
	if !ok {
		return h, l.failure()
	}
	if h.Op == opGradient {
		return h, nil
	}
	return h, l.allIntact()
}

// send sends a frame. If that fails it returns the error that ends the reader, since the last frames of
// the part explain more than a failed write. The reader itself, and callers that do not wait for it,
// must use post.
func (l *link) send(h *wire.Header) error {
	err := l.conn.Post(h)
	l.want()
	if err == nil {
		return nil
	}
	// The connection is broken, or the deadline of what was asked for passes.
	if l.take == nil {
		l.readRest()
	} else {
		<-l.read
	}
	return l.failure()
}

// post sends a frame without a wait. If that fails, the reader finds out why.
func (l *link) post(h *wire.Header) {
	_ = l.conn.Post(h)
	l.want()
}

// wrong is an error of the part, whose name comes before what it did.
func (l *link) wrong(format string, args ...any) error {
	return blame(l.conn.Peer(), fmt.Errorf("%s "+format, append([]any{l.conn.Peer()}, args...)...))
}

// blame says that the part's process is to blame for an error, unless it says that of another one: a
// wait in vain, a link that broke.
func blame(name string, err error) error {
	if fault.Explained(err) {
		return err
	}
	return &fault.Part{Text: err.Error(), Err: err, Process: name}
}

// end ends the link when the reader ends. If nothing is owed, no caller gets the error, so end reports a
// fault of the part to the core. It does not report that the part's process is gone, which the core
// notices, or that the host ended the link, which has its own report.
func (l *link) end(err error) {
	l.mu.Lock()
	oldest, first := l.oldest(), l.err == nil
	during := "a pause between calls"
	if oldest != nil {
		during = "the answer to " + describe(&oldest.asked)
	}
	l.mu.Unlock()
	err = l.fail(blame(l.conn.Peer(), l.conn.Explain(err, during, int64(l.process.Timeout))))
	close(l.answers)
	if l.ended != nil {
		l.ended(err)
	}
	if _, own := errors.AsType[*fault.Part](err); own && first && oldest == nil {
		l.process.Fail(err)
	}
}

// fail ends the link with an error, or says with which one it has ended before.
func (l *link) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.closed)
		_ = l.conn.Close()
	}
	return l.err
}

// failure is why the link has ended; nil: it has not.
func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the link and waits for its reader: nothing touches its segments any more.
func (l *link) Close() error {
	_ = l.fail(fmt.Errorf("%s has closed its link to %s: %w", l.conn.Self(), l.conn.Peer(), net.ErrClosed))
	<-l.read
	return nil
}

var _ io.Closer = (*link)(nil)
