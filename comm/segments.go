package comm

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/psbench/psbench/comm/shm"
)

// A descriptor travels as the control message of an ordinary read, and a read
// that does not ask for it loses it. So the receiver asks with a frame, reads
// nothing else meanwhile, and the sender sends only when asked.

// segmentNote goes with the descriptor: the segment's size in bytes.
const segmentNote = 8

// SendSegment passes s to the peer, which calls ReceiveSegment. The deadlines of
// the connection apply. It is an error if the peer expects another size.
func (c *Conn) SendSegment(s *shm.Segment) error {
	var h Header
	if err := c.ReadHeader(&h); err != nil {
		return err
	}
	size := int64(len(s.Bytes()))
	if h.Op != opSegment || h.Payload != 0 {
		return fmt.Errorf("%s sent operation %d to %s where a request for a segment is due", c.peer, h.Op, c.self)
	}
	if h.Arg != size {
		return fmt.Errorf("%s expects a segment of %d bytes from %s, whose segment has %d: both must agree on the buckets", c.peer, h.Arg, c.self, size)
	}
	unix, err := c.unix()
	if err != nil {
		return err
	}
	note := binary.LittleEndian.AppendUint64(nil, uint64(size)) // #nosec G115 -- a length
	return c.explainSend(shm.SendFDs(unix, note, s.FD()), "a segment", c.writeWait.Load())
}

// ReceiveSegment takes a segment of size bytes from the peer and maps it, for
// reading alone if readOnly is set. It refuses one of another size and one that can
// be shrunk, and with readOnly one that can still be mapped for writing.
func (c *Conn) ReceiveSegment(size int, readOnly bool) (*shm.Segment, error) {
	return c.receiveSegment(size, readOnly, true)
}

// receiveSegment fills the page tables at once with prefault set, which would
// touch the pages of a segment that is to stay untouched.
func (c *Conn) receiveSegment(size int, readOnly, prefault bool) (*shm.Segment, error) {
	unix, err := c.unix()
	if err != nil {
		return nil, err
	}
	if err := c.Send(&Header{Op: opSegment, Arg: int64(size)}); err != nil {
		return nil, err
	}
	var note [segmentNote]byte
	fds, err := shm.ReceiveFDs(unix, note[:], 1)
	if err != nil {
		return nil, c.explain(err, "a segment", c.readWait.Load())
	}
	s, err := shm.Open(fds[0], size, readOnly, prefault)
	if err != nil {
		return nil, fmt.Errorf("%s refuses the segment from %s: %w", c.self, c.peer, err)
	}
	if readOnly && !s.ReadOnlySealed() {
		_ = s.Close()
		return nil, fmt.Errorf("%s refuses the segment from %s: it is not sealed against writing", c.self, c.peer)
	}
	return s, nil
}

// SendStore passes s, which must be a shared one, to the peer, which calls
// ReceiveStore. The memory of the values is the same; rows of a sparse gradient each
// side has for itself, and hands them over by ShowRows and TakeRows.
func (c *Conn) SendStore(s *Store) error {
	if s.segment == nil {
		return fmt.Errorf("%s cannot pass its buckets to %s: they are not in shared memory", c.self, c.peer)
	}
	return c.SendSegment(s.segment)
}

// ReceiveStore maps the store of the peer; both must agree on the specs.
func (c *Conn) ReceiveStore(specs []BucketSpec) (*Store, error) { return c.receiveStore(specs, true) }

// receiveStore maps the peer's store of these specs.
func (c *Conn) receiveStore(specs []BucketSpec, prefault bool) (*Store, error) {
	s, err := c.receiveSegment(storeSize(specs), false, prefault)
	if err != nil {
		return nil, err
	}
	return viewStore(s, specs), nil
}

// bound gives everything on the connection until the timeout.
func (c *Conn) bound(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	if err := c.SetReadDeadline(deadline); err != nil {
		return err
	}
	return c.SetWriteDeadline(deadline)
}

func (c *Conn) unix() (*net.UnixConn, error) {
	unix, ok := c.nc.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("the link from %s to %s cannot pass segments: that needs a Unix socket", c.self, c.peer)
	}
	return unix, nil
}
