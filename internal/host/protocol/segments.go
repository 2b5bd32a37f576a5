package protocol

import (
	"fmt"
	"unsafe"

	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// maxSegments is the maximum number of segments per link. Each segment takes a file descriptor on
// both sides.
const maxSegments = 512

// segment is memory that both sides map.
type segment struct {
	*shm.Segment
	readOnly bool // read-only for the part
}

// share sends a segment to the part. The caller keeps the segment until the link has ended. If the
// part should only read the segment, the caller should seal it against writing. asked is the number
// that the part gave its request for memory.
func (l *link) share(s *shm.Segment, readOnly bool, asked int64) error {
	l.sharing.Lock()
	defer l.sharing.Unlock()
	l.mu.Lock()
	number := len(l.segments)
	if number < maxSegments {
		l.segments = append(l.segments, &segment{s, readOnly})
	}
	l.mu.Unlock()
	if number == maxSegments {
		return l.wrong("has %d segments, the most that a link can have", maxSegments)
	}
	h := wire.Header{Op: opSegment, Bucket: int32(number), Arg: int64(len(s.Bytes())), Arg2: asked} // #nosec G115 -- below maxSegments
	if readOnly {
		h.Flags = flagReadOnly
	}
	_ = l.conn.PostSegment(&h, s) // the reader learns why sending failed
	return nil
}

// lend answers a part's request for memory. The process owns the new segment.
func (l *link) lend(h *wire.Header) error {
	if h.Arg <= 0 || h.Arg > wire.MaxPayload {
		return l.wrong("asked for a segment of %d bytes: it can have 1 to %d", h.Arg, int64(wire.MaxPayload))
	}
	s, err := l.newSegment(int(h.Arg))
	if err != nil {
		return l.wrong("asked for memory: %v", err)
	}
	return l.share(s, false, int64(h.Bucket))
}

// newSegment creates a segment for data that goes to or comes from the part. newSegment fails if
// the segment does not fit into the remaining memory.
func (l *link) newSegment(size int) (*shm.Segment, error) {
	s, err := shm.New(l.conn.Peer()+" memory", size, true)
	if err == nil {
		l.process.OwnMemory(s)
	}
	return s, err
}

// numbered returns the link's segment with this number.
func (l *link) numbered(n int32) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || int(n) >= len(l.segments) {
		return nil
	}
	return l.segments[n]
}

// find returns the segment and offset at which memory lies.
func (l *link) find(memory []byte) (number int32, offset int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory))) // #nosec G103 -- compared, never followed
	for i, s := range l.segments {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes()))) // #nosec G103 -- likewise
		if from <= at && at+uintptr(len(memory)) <= from+uintptr(len(s.Bytes())) {
			return int32(i), int64(at - from), nil // #nosec G115 -- below maxSegments; within a segment
		}
	}
	return 0, 0, fmt.Errorf("%s cannot show %d bytes to %s: they lie in none of its segments", l.conn.Self(),
		len(memory), l.conn.Peer())
}
