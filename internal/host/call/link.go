// Package call is how two processes of a host call each other: frames over a socket, or headers
// and payloads in memory that both map.
package call

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
)

// Link carries the calls between a trainer and a companion: frames over a Unix
// socket or, in shared memory, headers and payloads in a segment of both, without a system call
// while the other side is at work. Parameters and gradients lie in the
// trainer's memory, which the companion maps; what else a call hands over, such as
// a batch or an output, its sender puts, or makes, in memory that both map, and its
// receiver may use it there.
//
// One goroutine of a side sends and reads at a time.
type Link struct {
	*wire.Conn
	memory  *memory  // nil over a socket
	Lengths [5]int64 // of the lists of the batch in work
}

// Send is that of wire.Conn.
func (l *Link) Send(h *wire.Header, payload ...[]byte) error {
	if l.memory == nil {
		return l.Conn.Send(h, payload...)
	}
	return l.memory.send(h, payload)
}

// ReadHeader is that of wire.Conn.
func (l *Link) ReadHeader(h *wire.Header) error {
	if l.memory == nil {
		return l.Conn.ReadHeader(h)
	}
	return l.memory.readHeader(h)
}

// ReadFull is that of wire.Conn.
func (l *Link) ReadFull(dst []byte) error {
	if l.memory == nil {
		return l.Conn.ReadFull(dst)
	}
	return l.memory.readFull(dst)
}

// View is the next n bytes of the payload where both sides have them, for reading alone if sealed is
// set: writing there ends the process. They stay until the peer sends the payload after the next
// one. It is nil where they have to be read.
func (l *Link) View(n int, sealed bool) []byte {
	if l.memory == nil {
		return nil
	}
	return l.memory.view(n, sealed)
}

// Place is where the next payload, of n bytes, can be made so that Send need not copy it. It is nil
// where that must be elsewhere.
func (l *Link) Place(n int) ([]byte, error) {
	if l.memory == nil {
		return nil, nil
	}
	return l.memory.place(n)
}

// Bound gives a call, its sending and its answer, until the timeout.
func (l *Link) Bound(timeout time.Duration) error {
	if l.memory == nil {
		return l.Conn.Bound(timeout)
	}
	l.memory.bound(timeout)
	return nil
}

// Lift has calls wait for as long as the link lasts.
func (l *Link) Lift() error {
	if l.memory == nil {
		return l.Conn.Lift()
	}
	l.memory.bound(0)
	return nil
}

// Discard reads and drops all further bytes until the link ends. A call's payload may be partly
// unread, so frames can no longer be separated, but the peer must not block while it sends.
func (l *Link) Discard() {
	if l.memory != nil {
		l.memory.discard()
		return
	}
	for waste := make([]byte, 64<<10); l.Conn.ReadFull(waste) == nil; {
	}
}

// Close ends the link and all waits on it. For a link in memory it returns once the memory is unused.
func (l *Link) Close() error {
	err := l.Conn.Close()
	if l.memory != nil {
		l.memory.close()
	}
	return err
}

// Offer makes the link of a trainer to the companion on conn, which calls Take. Where ranks map
// memory, calls go through a segment with two rooms of n bytes for the payloads of each side, which
// the process owns; a payload that is larger goes in several turns.
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

// Take is the companion's side of Offer.
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

// Watch has the end of the connection end what waits on the link, once the connection itself is
// used for nothing else. The process owns the link from then on.
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

// SendSegment passes a segment to a peer that does not know its size.
func SendSegment(conn *wire.Conn, op wire.Op, segment *shm.Segment) error {
	if err := conn.Send(&wire.Header{Op: op, Arg: int64(len(segment.Bytes()))}); err != nil {
		return err
	}
	return conn.SendSegments(segment)
}

// ReceiveSegment is the other side of SendSegment.
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
