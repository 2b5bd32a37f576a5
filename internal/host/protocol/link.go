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

// link is the host's side of the link to a part in a companion. A goroutine, the reader, reads the
// part's frames. The reader hands answers to the caller. The function take gets the frames that
// only this kind of part sends. The goroutine that reads depends on the kind of part:
//
//   - If the part may send at any time, only the reader reads.
//   - If the part only answers calls, the caller reads. The reader checks now and then for an
//     unexpected frame.
//   - If the part sends only frames that it owes, the reader or a waiter reads while a frame is
//     owed. At other times the reader only checks now and then, as above.
//
// Each owed frame has a deadline. The reader uses the earliest deadline, so no other goroutine
// watches the clock. An error ends the link and fails everything that is owed.
type link struct {
	process *process.Process
	conn    *wire.Conn
	kind

	sharing sync.Mutex // held while a segment is numbered and sent

	mu       sync.Mutex
	segments []*segment       // by number
	tensors  map[place][]byte // announced by the part
	guards   map[place][]byte // canaries behind tensors of the host
	err      error            // why the link ended; nil before its end
	debts    []*debt
	armed    time.Time // current deadline of reads and sends
	calling  debt      // the answer to a call
	pending  wire.Op   // operation of the open call; 0 if no call is open

	answers chan wire.Header
	text    []byte        // text of the latest answer; set only while a call awaits one
	closed  chan struct{} // closed once err is set
	read    chan struct{} // closed when the reader has ended

	wanted  chan struct{} // signals that a frame is owed; nil unless the reader waits for that
	reading sync.Mutex    // held while a goroutine reads, unless only the reader may read
	frame   wire.Header   // the last frame; reading guards it too
	over    bool          // no more frames will be read
}

// kind holds the properties of a link that depend on the kind of its part.
type kind struct {
	gradients int                        // maximum number of gradients between a call and its answer
	announces map[role]int               // maximum number of tensors that the part may announce, by role
	take      func(h *wire.Header) error // handles frames of this kind of part; nil if there are none
	debtor    bool                       // whether the frames for take are owed
	ended     func(err error)            // fails all pending requests; may be nil
}

// dial connects to a companion.
func dial(p *process.Process, peer process.Peer, k kind) (*link, error) {
	peer.Address = wire.Unix.Name() + ":" + peer.Address // the peer's address is a path
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

// boundaryPings is the number of pings that measure the cost of a call.
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

// begin sends a call. next then returns the frames before the answer, and the answer. Only one
// goroutine at a time may call.
func (l *link) begin(h *wire.Header) error {
	l.mu.Lock()
	l.expect(&l.calling, h)
	l.mu.Unlock()
	if l.take == nil {
		l.readEarly() // reads with the call's deadline
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

// next waits for the call's next frame.
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

// send sends a frame. If that fails, send returns the error that ended the reader, because the
// part's last frames explain more than a failed write. The reader itself, and callers that do not
// wait for it, must use post.
func (l *link) send(h *wire.Header) error {
	err := l.conn.Post(h)
	l.want()
	if err == nil {
		return nil
	}
	// Reading ends soon: the connection is broken, or the deadline of the request passes.
	if l.take == nil {
		l.readRest()
	} else {
		<-l.read
	}
	return l.failure()
}

// post sends a frame without waiting. If sending fails, the reader will find out why.
func (l *link) post(h *wire.Header) {
	_ = l.conn.Post(h)
	l.want()
}

// wrong returns an error of the part. The message begins with the part's name.
func (l *link) wrong(format string, args ...any) error {
	return blame(l.conn.Peer(), fmt.Errorf("%s "+format, append([]any{l.conn.Peer()}, args...)...))
}

// blame returns an error that blames the part's process. An error about another process, such as a
// timeout or a broken link, stays as it is.
func blame(name string, err error) error {
	if fault.Explained(err) {
		return err
	}
	return &fault.Part{Text: err.Error(), Err: err, Process: name}
}

// end ends the link when the reader ends. If nothing is owed, no caller gets the error, so end
// reports the part's fault to the core. end does not report that the part's process is gone,
// because the core notices that itself. An end by the host has its own report.
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

// fail ends the link with err. If the link has already ended, fail returns the earlier error.
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

// failure returns the error that ended the link, or nil while the link works.
func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the link and waits for its reader. After Close, nothing accesses the link's segments.
func (l *link) Close() error {
	_ = l.fail(fmt.Errorf("%s has closed its link to %s: %w", l.conn.Self(), l.conn.Peer(), net.ErrClosed))
	<-l.read
	return nil
}

var _ io.Closer = (*link)(nil)
