package call

import (
	"fmt"

	"github.com/psbench/psbench/internal/comm/wire"
)

// readHeader reads the header of the next call or answer. readHeader first drops the unread rest of
// the previous payload.
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

// next reads the next header. If no payload bytes come with the header, next also gives its slot
// back.
func (m *memory) next() error {
	if err := m.await(frame{m}, "a frame"); err != nil {
		return err
	}
	c := &m.coming
	if onWay := c.sent.Load() - c.at; onWay == 0 {
		return *m.ended.Load()
	}
	slot := c.slots[c.at%laneSlots] // a copy, because the peer could still change the slot after the check
	if err := m.current.Decode(&slot); err != nil {
		return fmt.Errorf("%s cannot read what %s sent: %w", m.conn.Self(), m.conn.Peer(), err)
	}
	if m.current.Sequence != uint64(c.at) {
		return fmt.Errorf("%s sent frame %d to %s where frame %d is due: a frame was lost, repeated or reordered",
			m.conn.Peer(), m.current.Sequence, m.conn.Self(), c.at)
	}
	room := m.in.next()
	if m.current.Link > uint64(len(room)) {
		return fmt.Errorf("%s sent %d bytes in memory, which has %d", m.conn.Peer(), m.current.Link, len(room))
	}
	if m.unread = room[:m.current.Link]; len(m.unread) == 0 {
		m.take()
	} else {
		m.in.turn++
	}
	return nil
}

// checkRoom refuses a room with more bytes than the payload has left. checkRoom also refuses an
// empty room while payload bytes are due.
func (m *memory) checkRoom() error {
	if n := uint64(len(m.unread)); n > m.left || n == 0 && m.left > 0 {
		return fmt.Errorf("%s sent %d bytes in memory of a payload of which %d are due", m.conn.Peer(), n, m.left)
	}
	return nil
}

// take gives the slot back to the sender. The sender does not reuse the slot's room before the next
// payload is taken too: see awaitRoom.
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

// view returns the next n bytes of the payload in place, read-only if sealed is set. view returns
// nil if these bytes do not lie together in a room. The bytes stay valid until the peer sends the
// payload after the next one.
func (m *memory) view(n int, sealed bool) []byte {
	if m.enter() != nil {
		return nil
	}
	defer m.leave()
	if n == 0 || m.left != uint64(len(m.unread)) || n > len(m.unread) {
		return nil
	}
	seen := m.unread[:n:n]
	if sealed {
		at := int(m.current.Link) - len(m.unread) // #nosec G115 -- checked by next
		seen = m.sealed.halves[(m.in.turn-1)%2][at:][:n:n]
	}
	if m.unread, m.left = m.unread[n:], m.left-uint64(n); m.left == 0 { // #nosec G115 -- a length
		m.take()
	}
	return seen
}

// discard drops everything that arrives until the link ends.
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
