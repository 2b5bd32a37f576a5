// Package call is how two processes of a host call each other: frames, and memory that both
// map.
package call

import (
	"fmt"

	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk/host/process"
)

// Link carries the calls between a trainer and a companion: frames over a Unix
// socket. In shared memory the frames are headers alone. Parameters and gradients lie in the
// trainer's memory, which the companion maps; what else a call hands over, such as
// a batch or an output, its sender writes into memory that both map, and its
// receiver copies it from there.
type Link struct {
	*wire.Conn
	out, in []byte   // in shared memory: for what this side sends, and of what the peer sends
	unread  []byte   // of the frame in work, where that lies in memory
	Lengths [4]int64 // of the lists of the batch in work
}

// inMemory is the flag of a frame whose payload lies in memory; Batch is its size in
// bytes. A payload that does not fit there travels in its frame.
const inMemory = 1

// Send is that of wire.Conn. The peer must have read what was sent before: a side
// sends payloads in turn with the peer's answers.
func (l *Link) Send(h *wire.Header, payload ...[]byte) error {
	n := 0
	for _, p := range payload {
		n += len(p)
	}
	if n == 0 || n > len(l.out) {
		return l.Conn.Send(h, payload...)
	}
	at := l.out
	for _, p := range payload {
		at = at[copy(at, p):]
	}
	h.Flags, h.Batch = inMemory, int64(n)
	return l.Conn.Send(h)
}

// ReadHeader is that of wire.Conn; Payload says how much is to be read, wherever
// that lies.
func (l *Link) ReadHeader(h *wire.Header) error {
	l.unread = nil
	if err := l.Conn.ReadHeader(h); err != nil || h.Flags != inMemory {
		return err
	}
	if h.Payload != 0 || h.Batch <= 0 || h.Batch > int64(len(l.in)) {
		return fmt.Errorf("%s sent %d bytes in memory, which has %d, and %d after them", l.Peer(), h.Batch, len(l.in), h.Payload)
	}
	l.unread = l.in[:h.Batch]
	h.Payload = uint64(h.Batch)
	return nil
}

// ReadFull is that of wire.Conn.
func (l *Link) ReadFull(dst []byte) error {
	if len(l.unread) == 0 {
		return l.Conn.ReadFull(dst)
	}
	if len(dst) > len(l.unread) {
		return fmt.Errorf("%s sent %d bytes in memory where %d are due", l.Peer(), len(l.unread), len(dst))
	}
	l.unread = l.unread[copy(dst, l.unread):]
	return nil
}

// OfferMemory makes the memory of a trainer's call link, n bytes for each side, and
// passes it to the companion. The process owns it.
func OfferMemory(proc *process.Process, l *Link, n int) error {
	if !proc.Fabric.Maps() {
		return nil
	}
	segment, err := shm.New(l.Peer()+" calls", 2*n, true)
	if err != nil {
		return err
	}
	proc.OwnMemory(segment)
	l.out, l.in = segment.Bytes()[:n], segment.Bytes()[n:]
	if err := SetDeadline(l.Conn, proc.Timeout); err != nil {
		return err
	}
	return SendSegment(l.Conn, opMemory, segment)
}

// TakeMemory is the companion's side of OfferMemory.
func TakeMemory(proc *process.Process, l *Link) error {
	if !proc.Fabric.Maps() {
		return nil
	}
	if err := SetDeadline(l.Conn, proc.Timeout); err != nil {
		return err
	}
	segment, err := ReceiveSegment(l.Conn, opMemory, false)
	if err != nil {
		return err
	}
	proc.OwnMemory(segment)
	n := len(segment.Bytes()) / 2
	l.in, l.out = segment.Bytes()[:n], segment.Bytes()[n:]
	return nil
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
