package call

import "github.com/psbench/psbench/internal/comm/wire"

// send writes h and the payload, in several parts if the payload is larger than the room.
func (m *memory) send(h *wire.Header, payload [][]byte) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	h.Payload, h.Flags = 0, 0
	for _, p := range payload {
		h.Payload += uint64(len(p))
	}
	used, room := 0, m.out.next()
	for _, p := range payload {
		for len(p) > 0 {
			if used == len(room) {
				if err := m.post(h, used); err != nil {
					return err
				}
				h.Flags, used, room = rest, 0, m.out.next()
			}
			if used == 0 {
				if err := m.awaitRoom(); err != nil {
					return err
				}
			}
			n := min(len(p), len(room)-used)
			if &p[0] != &room[used] { // copy, unless the caller made the payload in the room
				copy(room[used:], p[:n])
			}
			p, used = p[n:], used+n
		}
	}
	return m.post(h, used)
}

// place returns the room for the next payload of n bytes, so that the caller can write the payload
// in place. place returns nil if the payload is larger than the room.
func (m *memory) place(n int) ([]byte, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	room := m.out.next()
	if n > len(room) {
		return nil, nil
	}
	return room[:n:n], m.awaitRoom()
}

// awaitRoom waits until the room for the next payload is empty. The room is empty once the peer has
// taken the last header with a payload. The peer then no longer needs the room of the payload
// before.
func (m *memory) awaitRoom() error { return m.awaitTaken(m.going.at - m.filled) }

// awaitTaken waits until at most mostOnWay headers are in transit.
func (m *memory) awaitTaken(mostOnWay uint32) error {
	m.mostOnWay = mostOnWay
	if err := m.await(room{m}, "room for a frame"); err != nil {
		return err
	}
	if onWay := m.going.at - m.going.taken.Load(); onWay > mostOnWay {
		if err := m.ended.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// post sends h, with used bytes of its payload in the room.
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
		m.out.turn++
	}
	g.sent.Store(g.at)
	m.peer.Ring()
	return nil
}
