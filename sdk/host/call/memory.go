package call

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/wire"
)

// The segment of a call link: the bells of both sides, a lane for the headers of each, and room
// for the payload of each. The trainer's come first.
const (
	lineBytes = 64
	laneSlots = 64 // headers that may be on their way: a model emits many gradients in a call
	laneBytes = (2 + laneSlots) * lineBytes
	headBytes = 2*shm.BellSize + 2*laneBytes
)

// segmentBytes is the size of a segment with n bytes for the payloads of each side.
func segmentBytes(n int) int { return headBytes + 2*((n+lineBytes-1)/lineBytes*lineBytes) }

// rest is the flag of a header that begins no call but goes on with a payload that is larger
// than its room. How many bytes lie in the room is in Link, which a connection alone needs.
const rest = 1

// lane carries headers one way: a ring of slots, each of which belongs to the sender until it
// has counted the slot in sent, and then to the receiver until that has counted it in taken.
// A header with a payload takes the room for payloads with it.
type lane struct {
	sent, taken *atomic.Uint32 // in the segment, each written by one side alone
	slots       *[laneSlots][wire.HeaderSize]byte
	at          uint32 // this side's own count: what is in the segment the peer can write, too
}

func laneAt(at []byte) lane {
	return lane{
		sent:  (*atomic.Uint32)(unsafe.Pointer(&at[0])),                                                                    // #nosec G103 -- a word of the segment
		taken: (*atomic.Uint32)(unsafe.Pointer(&at[lineBytes])),                                                            // #nosec G103 -- likewise
		slots: (*[laneSlots][wire.HeaderSize]byte)(unsafe.Pointer((*[laneSlots * wire.HeaderSize]byte)(at[2*lineBytes:]))), // #nosec G103 -- likewise
	}
}

// memory is a segment of calls as one side has it.
type memory struct {
	conn      *wire.Conn // which only tells of the peer's end
	own, peer shm.Bell   // where this side sleeps, and where the peer does
	out, in   []byte     // payloads to the peer and from it

	using     sync.Mutex // held while this side works in the segment
	closed    bool
	going     lane
	filled    uint32 // the count of going after the last header with a payload
	coming    lane
	current   wire.Header // of the payload in work
	unread    []byte      // of that, what lies in the room
	left      uint64      // of that, what is not read, in the room or to come
	deadline  time.Time
	timeout   time.Duration
	there     func() bool // a header is there, or the link has ended
	emptied   func() bool // the peer has taken so many headers, or the link has ended
	mostOnWay uint32      // what emptied waits for: so many on their way, or fewer

	ended   atomic.Pointer[error]
	watched chan struct{} // closed when nobody reads conn any more; nil before watch
}

func newMemory(conn *wire.Conn, at []byte, trainer bool) *memory {
	bells, lanes, rooms := at[:2*shm.BellSize], at[2*shm.BellSize:headBytes], at[headBytes:]
	half := len(rooms) / 2
	m := &memory{
		conn: conn,
		own:  shm.NewBell(bells), peer: shm.NewBell(bells[shm.BellSize:]),
		going: laneAt(lanes), coming: laneAt(lanes[laneBytes:]),
		out: rooms[:half:half], in: rooms[half:],
	}
	if !trainer {
		m.own, m.peer, m.going, m.coming, m.out, m.in = m.peer, m.own, m.coming, m.going, m.in, m.out
	}
	m.there = func() bool { return m.coming.sent.Load() != m.coming.at || m.ended.Load() != nil }
	m.emptied = func() bool { return m.going.at-m.going.taken.Load() <= m.mostOnWay || m.ended.Load() != nil }
	return m
}

// bound gives what follows until the timeout; 0 is none.
func (m *memory) bound(timeout time.Duration) {
	m.timeout, m.deadline = timeout, time.Time{}
	if timeout > 0 {
		m.deadline = time.Now().Add(timeout)
	}
}

// enter begins work in the segment, which is there until leave.
func (m *memory) enter() error {
	m.using.Lock()
	if !m.closed {
		return nil
	}
	m.using.Unlock()
	return *m.ended.Load()
}

func (m *memory) leave() { m.using.Unlock() }

// await waits until ready, which what is late says.
func (m *memory) await(ready func() bool, what string) error {
	if m.own.Wait(ready, m.deadline) {
		return nil
	}
	return &comm.WaitError{Waiter: m.conn.Self(), For: []string{m.conn.Peer()}, What: what, Seconds: m.timeout.Seconds()}
}

// send writes h and the payload, in as many turns as that takes.
func (m *memory) send(h *wire.Header, payload [][]byte) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	h.Payload, h.Flags = 0, 0
	for _, p := range payload {
		h.Payload += uint64(len(p))
	}
	used := 0
	for _, p := range payload {
		for len(p) > 0 {
			if used == len(m.out) {
				if err := m.post(h, used); err != nil {
					return err
				}
				h.Flags, used = rest, 0
			}
			if used == 0 {
				// The room is empty once the peer has taken the last header that filled it.
				if err := m.awaitTaken(m.going.at - m.filled); err != nil {
					return err
				}
			}
			n := copy(m.out[used:], p)
			p, used = p[n:], used+n
		}
	}
	return m.post(h, used)
}

// awaitTaken waits until so many headers at most are on their way.
func (m *memory) awaitTaken(mostOnWay uint32) error {
	m.mostOnWay = mostOnWay
	if err := m.await(m.emptied, "room for a frame"); err != nil {
		return err
	}
	if onWay := m.going.at - m.going.taken.Load(); onWay > mostOnWay {
		if err := m.ended.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// post hands h over, with so many bytes in the room.
func (m *memory) post(h *wire.Header, used int) error {
	if err := m.awaitTaken(laneSlots - 1); err != nil {
		return err
	}
	g := &m.going
	h.Sequence, h.Link = uint64(g.at), uint64(used) // #nosec G115 -- a length
	h.Encode(&g.slots[g.at%laneSlots])
	g.at++
	if used > 0 {
		m.filled = g.at
	}
	g.sent.Store(g.at)
	m.peer.Ring()
	return nil
}

// readHeader reads the header of the next call or answer; of the one before it drops what
// nobody read.
func (m *memory) readHeader(h *wire.Header) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	if len(m.unread) > 0 {
		m.take()
	}
	if err := m.next(); err != nil {
		return err
	}
	if m.current.Flags != 0 {
		return fmt.Errorf("%s sent more of a payload where a call is due", m.conn.Peer())
	}
	m.left = m.current.Payload
	*h = m.current
	return m.checkRoom()
}

// next reads the next header, and takes it unless some of a payload comes with it.
func (m *memory) next() error {
	if err := m.await(m.there, "a frame"); err != nil {
		return err
	}
	c := &m.coming
	if onWay := c.sent.Load() - c.at; onWay == 0 {
		return *m.ended.Load()
	}
	slot := c.slots[c.at%laneSlots] // what is checked must not change: the peer can write there
	if err := m.current.Decode(&slot); err != nil {
		return fmt.Errorf("%s cannot read what %s sent: %w", m.conn.Self(), m.conn.Peer(), err)
	}
	if m.current.Sequence != uint64(c.at) {
		return fmt.Errorf("%s sent frame %d to %s where frame %d is due: a frame was lost, repeated or reordered", m.conn.Peer(), m.current.Sequence, m.conn.Self(), c.at)
	}
	if m.current.Link > uint64(len(m.in)) {
		return fmt.Errorf("%s sent %d bytes in memory, which has %d", m.conn.Peer(), m.current.Link, len(m.in))
	}
	if m.unread = m.in[:m.current.Link]; len(m.unread) == 0 {
		m.take()
	}
	return nil
}

// checkRoom refuses more in the room than there is of the payload, and nothing of one.
func (m *memory) checkRoom() error {
	if n := uint64(len(m.unread)); n > m.left || n == 0 && m.left > 0 {
		return fmt.Errorf("%s sent %d bytes in memory of a payload of which %d are due", m.conn.Peer(), n, m.left)
	}
	return nil
}

// take gives the slot and the room back.
func (m *memory) take() {
	m.unread = nil
	m.coming.at++
	m.coming.taken.Store(m.coming.at)
	m.peer.Ring()
}

// readFull fills dst with the next bytes of the payload.
func (m *memory) readFull(dst []byte) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	if uint64(len(dst)) > m.left {
		return fmt.Errorf("%s sent %d bytes in memory where %d are due", m.conn.Peer(), m.left, len(dst))
	}
	for len(dst) > 0 {
		if len(m.unread) == 0 {
			if err := m.next(); err != nil {
				return err
			}
			if m.current.Flags != rest {
				return fmt.Errorf("%s sent a call where more of a payload is due", m.conn.Peer())
			}
			if err := m.checkRoom(); err != nil {
				return err
			}
		}
		n := copy(dst, m.unread)
		dst, m.unread, m.left = dst[n:], m.unread[n:], m.left-uint64(n) // #nosec G115 -- a length
		if len(m.unread) == 0 {
			m.take()
		}
	}
	return nil
}

// discard takes all that comes until the link ends.
func (m *memory) discard() {
	for m.enter() == nil {
		if len(m.unread) > 0 {
			m.take()
		}
		m.bound(0)
		err := m.next()
		m.leave()
		if err != nil {
			return
		}
	}
}

// watch ends the link with its connection, over which nothing comes any more.
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

// end has all that waits in the segment, now or later, return err. The first one counts.
func (m *memory) end(err error) {
	m.ended.CompareAndSwap(nil, &err)
	m.own.Shake()
}

// close waits until nobody works in the segment any more, whose connection is closed.
func (m *memory) close() {
	if m.watched != nil {
		<-m.watched
	}
	m.using.Lock()
	defer m.using.Unlock()
	m.closed = true
}
