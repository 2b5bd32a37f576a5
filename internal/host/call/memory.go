package call

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// memory is one side's view of the segment of a call link.
type memory struct {
	conn      *wire.Conn // used only to notice the end of the peer
	own, peer shm.Bell   // the bells on which this side and the peer sleep
	out, in   rooms      // payload rooms to the peer, and from the peer
	sealed    rooms      // read-only view of in

	using     sync.Mutex // held while this side accesses the segment
	closed    bool
	going     lane
	filled    uint32 // value of going.at after the last header with a payload
	coming    lane
	current   wire.Header // header of the payload being read
	unread    []byte      // bytes of that payload that wait in the room
	left      uint64      // unread bytes of that payload, in the room or still to come
	deadline  time.Time
	timeout   time.Duration
	mostOnWay uint32 // awaited maximum number of headers in transit

	ended   atomic.Pointer[error]
	watched chan struct{} // closed when conn has no reader left; nil before watch
}

// newMemory makes one side's view of the segment at. sealed is the same segment mapped read-only.
func newMemory(conn *wire.Conn, at, sealed []byte, trainer bool) *memory {
	bells, lanes, payloads := at[:2*shm.BellSize], at[2*shm.BellSize:headBytes], at[headBytes:]
	half := len(payloads) / 2
	m := &memory{
		conn: conn,
		own:  shm.NewBell(bells), peer: shm.NewBell(bells[shm.BellSize:]),
		going: laneAt(lanes), coming: laneAt(lanes[laneBytes:]),
		out: roomsAt(payloads[:half]), in: roomsAt(payloads[half:]), sealed: roomsAt(sealed[headBytes+half:]),
	}
	if !trainer {
		m.own, m.peer, m.going, m.coming, m.out, m.in = m.peer, m.own, m.coming, m.going, m.in, m.out
		m.sealed = roomsAt(sealed[headBytes:][:half])
	}
	return m
}

// frame is a shm.Condition that is met when a header has arrived or the link has ended.
type frame struct{ m *memory }

func (f frame) Met() bool { return f.m.coming.sent.Load() != f.m.coming.at || f.m.ended.Load() != nil }

// room is a shm.Condition that is met when the peer has taken enough headers or the link has ended.
type room struct{ m *memory }

func (r room) Met() bool {
	return r.m.going.at-r.m.going.taken.Load() <= r.m.mostOnWay || r.m.ended.Load() != nil
}

// bound sets the timeout of the following call; 0 means no timeout.
func (m *memory) bound(timeout time.Duration) {
	m.timeout, m.deadline = timeout, time.Time{}
	if timeout > 0 {
		m.deadline = time.Now().Add(timeout)
	}
}

// enter begins an access to the segment. The segment stays mapped until leave.
func (m *memory) enter() error {
	m.using.Lock()
	if !m.closed {
		return nil
	}
	m.using.Unlock()
	return *m.ended.Load()
}

func (m *memory) leave() { m.using.Unlock() }

// lookEvery is the interval between checks that the peer is alive, in waits before the call of watch.
const lookEvery = 20 * time.Millisecond

// await waits until the condition is met. A timeout error names the missing frame or room, which
// what describes. If the peer has ended, the error says so.
func (m *memory) await(until shm.Condition, what string) error {
	for m.watched == nil { // nothing else would notice the peer's end
		late := time.Now().Add(lookEvery)
		last := !m.deadline.IsZero() && m.deadline.Before(late)
		if last {
			late = m.deadline
		}
		switch {
		case m.own.Wait(until, late):
			return nil
		case m.conn.Ended():
			return &comm.PeerError{Waiter: m.conn.Self(), Peer: m.conn.Peer(), What: what, Err: io.EOF}
		case last:
			return m.late(what)
		}
	}
	if m.own.Wait(until, m.deadline) {
		return nil
	}
	return m.late(what)
}

func (m *memory) late(what string) error {
	return &comm.WaitError{Waiter: m.conn.Self(), For: []string{m.conn.Peer()}, What: what,
		Seconds: m.timeout.Seconds()}
}

// watch ends the link when its connection ends. No more data comes over the connection.
func (m *memory) watch() {
	m.watched = make(chan struct{})
	go func() {
		defer close(m.watched)
		var h wire.Header
		err := m.conn.ReadHeader(&h)
		if err == nil {
			err = fmt.Errorf("%s sent operation %#x over the connection of a link through memory", m.conn.Peer(), h.Op)
		}
		m.end(err)
	}()
}

// end makes all present and future waits in the segment return err. The first err wins.
func (m *memory) end(err error) {
	m.ended.CompareAndSwap(nil, &err)
	m.own.Shake()
}

// close waits until the segment is unused. The caller has already closed the connection.
func (m *memory) close() {
	if m.watched != nil {
		<-m.watched
	}
	m.using.Lock()
	defer m.using.Unlock()
	m.closed = true
}
