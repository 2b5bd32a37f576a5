package protocol

import (
	"github.com/psbench/psbench/internal/comm/wire"
)

// role is the purpose of a tensor.
type role uint8

// The roles in docs/protocol.md.
const (
	roleValues role = 1 + iota
	roleGradient
	roleGradientRows
	roleBucket
	roleBucketRows
	roleIndices
	roleOffsets
	roleFeatures
	roleTargets
	roleOutput
	roleOutputGradient
	roleFeatureGradient
	rolePush
	rolePushRows
	roleOwn
	roleOwnRows
	roleLimits
	roleLoadedIndices
	roleLoadedOffsets
	roleLoadedFeatures
	roleLoadedTargets
	roleLoadedBatches
	roleFloatTargets
	roleLoadedFloatTargets
	roleAsked
	roleAskedRows
	roleAskedCounts
	rolePayload
	roleEnd
)

// size returns the size of an element in bytes.
func (r role) size() int64 {
	switch r {
	case roleIndices, roleOffsets, roleTargets, roleLimits, roleLoadedIndices, roleLoadedOffsets, roleLoadedTargets,
		roleLoadedBatches, roleAskedCounts:
		return 8
	case rolePayload:
		return 1 // the plan has the element type
	}
	return 4 // float32 and int32
}

// place identifies a tensor by its role and index.
type place struct {
	role  role
	index int32
}

// announced handles the part's announcement of a tensor.
func (l *link) announced(h *wire.Header) error {
	r := role(h.Flags)
	if h.Bucket < 0 || int(h.Bucket) >= l.announces[r] {
		return l.wrong("announced tensor %d of role %d, which it does not have", h.Bucket, h.Flags)
	}
	s := l.numbered(h.Rows)
	if s == nil || s.readOnly {
		return l.wrong("announced tensor %d of role %d in segment %d, which it was not given to write", h.Bucket,
			r, h.Rows)
	}
	size, room := r.size(), int64(len(s.Bytes()))
	if h.Arg < 0 || h.Arg > room || h.Arg%size != 0 || h.Arg2 < 0 || h.Arg2 > (room-h.Arg)/size {
		return l.wrong("announced tensor %d of role %d as %d elements of %d bytes at byte %d of a segment of %d",
			h.Bucket, r, h.Arg2, size, h.Arg, room)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tensors[place{r, h.Bucket}] = s.Bytes()[h.Arg : h.Arg+size*h.Arg2 : h.Arg+size*h.Arg2]
	return nil
}

// given returns the memory of a tensor that the part has announced, or nil if it has not.
func (l *link) given(r role, index int32) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tensors[place{r, index}]
}

// view returns the first n elements of a tensor that the part has announced. The part may change
// the elements at any time, so callers must check a copy.
func (l *link) view(r role, index int32, n int64) ([]byte, error) {
	l.mu.Lock()
	at, ok := l.tensors[place{r, index}]
	l.mu.Unlock()
	if !ok {
		return nil, l.wrong("has announced no tensor %d of role %d", index, r)
	}
	if n < 0 || n > int64(len(at))/r.size() {
		return nil, l.wrong("gave %d elements of tensor %d of role %d, which has room for %d", n, index, r,
			int64(len(at))/r.size())
	}
	return at[:r.size()*n], nil
}

// show announces a tensor of the host to the part. The tensor fills memory, which lies in a segment
// of the link. The free bytes behind the tensor are unused and guarded.
func (l *link) show(r role, index int, memory []byte, free int) error {
	h := wire.Header{Op: opTensor, Flags: uint8(r), Bucket: int32(index), Arg2: int64(len(memory)) / r.size()} // #nosec G115 -- counts of a run
	if len(memory) > 0 {
		var err error
		if h.Rows, h.Arg, err = l.find(memory); err != nil {
			return err
		}
		l.guard(place{r, h.Bucket}, h.Rows, h.Arg+int64(len(memory)), free)
	}
	l.post(&h)
	return nil
}

// room is growing memory of the host for a tensor.
type room struct {
	role role
	at   []byte
}

// in returns n bytes of the room, which the part can see. The room grows if needed.
func (r *room) in(l *link, n int) ([]byte, error) {
	if n > len(r.at) {
		size := max(n, 2*len(r.at))
		s, err := l.newSegment(size + lineBytes)
		if err != nil {
			return nil, err
		}
		if err := l.share(s, false, 0); err != nil {
			return nil, err
		}
		r.at = s.Bytes()[:size]
		if err := l.show(r.role, 0, r.at, lineBytes); err != nil {
			return nil, err
		}
	}
	return r.at[:n], nil
}

// put copies data to the room for the part to read.
func (r *room) put(l *link, what []byte) error {
	at, err := r.in(l, len(what))
	copy(at, what)
	return err
}
