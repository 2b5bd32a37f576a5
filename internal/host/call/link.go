// Package call carries calls between two processes of a host. A call uses frames over a socket, or
// headers and payloads in shared memory.
package call

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
)

// Link carries the calls between a trainer and a companion. Without shared memory, calls are frames
// over a Unix socket. With shared memory, headers and payloads go through a segment that both
// processes map. A call through the segment needs no system call while the other side is running.
//
// Parameters and gradients lie in the trainer's memory, which the companion maps. The sender puts
// any other data, such as a batch or an output, into the segment. The receiver may use that data in
// place.
//
// On each side, only one goroutine may send and read at a time.
type Link struct {
	*wire.Conn
	memory  *memory  // nil for a socket
	Lengths [5]int64 // list lengths of the current batch
}

// Send works like wire.Conn.Send.
func (l *Link) Send(h *wire.Header, payload ...[]byte) error {
	if l.memory == nil {
		return l.Conn.Send(h, payload...)
	}
	return l.memory.send(h, payload)
}

// ReadHeader works like wire.Conn.ReadHeader.
func (l *Link) ReadHeader(h *wire.Header) error {
	if l.memory == nil {
		return l.Conn.ReadHeader(h)
	}
	return l.memory.readHeader(h)
}

// ReadFull works like wire.Conn.ReadFull.
func (l *Link) ReadFull(dst []byte) error {
	if l.memory == nil {
		return l.Conn.ReadFull(dst)
	}
	return l.memory.readFull(dst)
}

// View returns the next n bytes of the payload in shared memory. The bytes stay valid until the
// peer sends the payload after the next one. If sealed is set, the bytes are read-only, and writing
// to them ends the process. View returns nil if the caller must read the bytes with ReadFull.
func (l *Link) View(n int, sealed bool) []byte {
	if l.memory == nil {
		return nil
	}
	return l.memory.view(n, sealed)
}

// Place returns memory for the next payload of n bytes. Send need not copy a payload that was made
// there. Place returns nil if the payload must lie elsewhere.
func (l *Link) Place(n int) ([]byte, error) {
	if l.memory == nil {
		return nil, nil
	}
	return l.memory.place(n)
}

// Bound sets the deadline of a call: sending and answering must finish within timeout.
func (l *Link) Bound(timeout time.Duration) error {
	if l.memory == nil {
		return l.Conn.Bound(timeout)
	}
	l.memory.bound(timeout)
	return nil
}

// Lift removes the deadline: calls may wait until the link closes.
func (l *Link) Lift() error {
	if l.memory == nil {
		return l.Conn.Lift()
	}
	l.memory.bound(0)
	return nil
}

// Discard reads and drops all bytes until the link ends. A call may have left part of its payload
// unread, so frames can no longer be told apart. Discard keeps reading so that the peer does not
// block while it sends.
func (l *Link) Discard() {
	if l.memory != nil {
		l.memory.discard()
		return
	}
	for waste := make([]byte, 64<<10); l.Conn.ReadFull(waste) == nil; {
	}
}

// Close ends the link and all waits on it. For a link in memory, Close returns once the memory is
// unused.
func (l *Link) Close() error {
	err := l.Conn.Close()
	if l.memory != nil {
		l.memory.close()
	}
	return err
}

// Offer creates the trainer's side of the link on conn. The companion calls Take. If ranks map
// memory, calls go through a segment with two payload rooms of n bytes per side. A larger payload
// is sent in several parts. The process owns the segment.
func Offer(proc *process.Process, conn *wire.Conn, n int) (*Link, error) {
	l := &Link{Conn: conn}
	if !proc.Fabric.Maps() {
		return l, nil
	}
	segment, err := shm.New(conn.Peer()+" calls", segmentBytes(n), true)
	if err != nil {
		return nil, err
	}
	proc.OwnMemory(segment)
	sealed, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	l.memory = newMemory(conn, segment.Bytes(), sealed, true)
	return l, SendSegment(conn, opMemory, segment)
}

// Take creates the companion's side of a link that the trainer offered.
func Take(proc *process.Process, conn *wire.Conn) (*Link, error) {
	l := &Link{Conn: conn}
	if !proc.Fabric.Maps() {
		return l, nil
	}
	segment, err := ReceiveSegment(conn, opMemory, false)
	if err != nil {
		return nil, err
	}
	proc.OwnMemory(segment)
	if len(segment.Bytes()) < segmentBytes(1) {
		return nil, fmt.Errorf("%s sent a segment of %d bytes for calls, which take %d at least", conn.Peer(),
			len(segment.Bytes()), segmentBytes(1))
	}
	sealed, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	l.memory = newMemory(conn, segment.Bytes(), sealed, false)
	return l, nil
}

// Watch makes the end of the connection end all waits on the link. The caller must not use the
// connection for anything else from then on. The process then owns the link.
func (l *Link) Watch(proc *process.Process) error {
	if err := l.Conn.Lift(); err != nil {
		return err
	}
	if l.memory != nil {
		l.memory.watch()
	}
	proc.Own(l)
	return l.Lift()
}

// SendSegment sends a segment, and its size, to a peer.
func SendSegment(conn *wire.Conn, op wire.Op, segment *shm.Segment) error {
	if err := conn.Send(&wire.Header{Op: op, Arg: int64(len(segment.Bytes()))}); err != nil {
		return err
	}
	return conn.SendSegments(segment)
}

// ReceiveSegment receives a segment that SendSegment sent.
func ReceiveSegment(conn *wire.Conn, op wire.Op, readOnly bool) (*shm.Segment, error) {
	var h wire.Header
	if err := Expect(conn, &h, op); err != nil {
		return nil, err
	}
	if h.Payload != 0 || h.Arg <= 0 || h.Arg > wire.MaxPayload {
		return nil, fmt.Errorf("%s sent a segment of %d bytes, with %d more", conn.Peer(), h.Arg, h.Payload)
	}
	return conn.ReceiveSegment(int(h.Arg), readOnly)
}
