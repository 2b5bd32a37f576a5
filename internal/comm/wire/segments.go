package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/comm/shm"
)

// A descriptor travels as a control message with an ordinary read. A read that
// does not ask for the control message loses the descriptor. So the receiver
// requests segments with a frame and reads nothing else meanwhile. The sender
// sends only on request.

// segmentNote is the length of the note sent with each descriptor: the
// segment's size in bytes.
const segmentNote = 8

// SendSegments passes segments to the peer, which calls ReceiveSegments. The
// deadlines of the connection apply. SendSegments returns an error if the peer
// expects another size.
func (c *Conn) SendSegments(all ...*shm.Segment) error {
	var h Header
	if err := c.ReadHeader(&h); err != nil {
		return err
	}
	var size int64 // total size
	var note []byte
	var fds []int
	for _, s := range all {
		size += int64(len(s.Bytes()))
		note = binary.LittleEndian.AppendUint64(note, uint64(len(s.Bytes())))
		fds = append(fds, s.FD())
	}
	if h.Op != OpSegment || h.Payload != 0 {
		return fmt.Errorf("%s sent operation %d to %s where a request for a segment is due", c.peer, h.Op, c.self)
	}
	if h.Arg != size {
		return fmt.Errorf(
			"%s expects a segment of %d bytes from %s, whose segment has %d: both must agree on the buckets", c.peer,
			h.Arg, c.self, size)
	}
	nc, err := c.unix()
	if err != nil {
		return err
	}
	return c.ExplainSend(shm.SendFDs(nc, note, fds...), "a segment", c.writeWait.Load())
}

// PostSegment writes a frame without a payload, whose bytes carry the
// descriptor of a segment. PostSegment returns errors as Post does. The peer
// must read all its frames in a way that does not lose descriptors.
func (c *Conn) PostSegment(h *Header, s *shm.Segment) error {
	nc, ok := c.nc.(shm.Sender)
	if !ok {
		_, err := c.unix()
		return err
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	h.Payload = 0
	c.number(h)
	return shm.SendFDs(nc, c.outHead[:], s.FD())
}

// ReceiveSegment receives a segment of size bytes from the peer and maps it,
// read-only if readOnly is set. ReceiveSegment refuses a segment that has
// another size or can be shrunk. With readOnly it also refuses a segment that
// can still be mapped for writing.
func (c *Conn) ReceiveSegment(size int, readOnly bool) (*shm.Segment, error) {
	all, err := c.ReceiveSegments(readOnly, WantedSegment{Size: size, Prefault: true})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// WantedSegment is a request to ReceiveSegments: the size in bytes, and whether
// to fill the page tables at once. Filling them touches all pages of the
// segment.
type WantedSegment struct {
	Size     int
	Prefault bool
}

// ReceiveSegments receives several segments, which the peer sends together.
// ReceiveSegments returns all of them or an error.
func (c *Conn) ReceiveSegments(readOnly bool, wanted ...WantedSegment) ([]*shm.Segment, error) {
	nc, err := c.unix()
	if err != nil {
		return nil, err
	}
	h := Header{Op: OpSegment}
	for _, w := range wanted {
		h.Arg += int64(w.Size)
	}
	if err := c.Send(&h); err != nil {
		return nil, err
	}
	fds, err := shm.ReceiveFDs(nc, make([]byte, segmentNote*len(wanted)), len(wanted))
	if err != nil {
		return nil, c.Explain(err, "a segment", c.readWait.Load())
	}
	all := make([]*shm.Segment, 0, len(wanted))
	for i, w := range wanted {
		s, err := shm.Open(fds[i], w.Size, readOnly, w.Prefault)
		if err == nil {
			all = append(all, s)
			if readOnly && !s.ReadOnlySealed() {
				err = errors.New("it is not sealed against writing")
			}
		}
		if err != nil {
			shm.CloseFDs(fds[i+1:])
			for _, s := range all {
				_ = s.Close()
			}
			return nil, fmt.Errorf("%s refuses the segment from %s: %w", c.self, c.peer, err)
		}
	}
	return all, nil
}

// Bound sets a deadline, timeout from now, for all reads and sends on the
// connection.
func (c *Conn) Bound(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	if err := c.SetReadDeadline(deadline); err != nil {
		return err
	}
	return c.SetWriteDeadline(deadline)
}

// Ended reports whether the peer, on this host, has ended the connection. Ended
// reads nothing from the connection.
func (c *Conn) Ended() bool {
	nc, err := c.unix()
	if err != nil {
		return false
	}
	raw, err := nc.SyscallConn()
	if err != nil {
		return true // the connection is closed
	}
	ended := false
	failed := raw.Control(func(fd uintptr) {
		at := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} // #nosec G115 -- a descriptor
		_, _ = unix.Poll(at, 0)
		ended = at[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return ended || failed != nil
}

// PassesSegments reports whether segments can be passed over the connection: it
// must be a Unix socket, which joins processes of one host.
func (c *Conn) PassesSegments() bool {
	_, ok := c.nc.(*net.UnixConn)
	return ok
}

func (c *Conn) unix() (*net.UnixConn, error) {
	nc, ok := c.nc.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("the link from %s to %s cannot pass segments: that needs a Unix socket", c.self, c.peer)
	}
	return nc, nil
}
