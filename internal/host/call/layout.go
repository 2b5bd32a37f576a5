package call

import (
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// The segment of a call link holds the bells of both sides, one header lane per side, and two
// payload rooms per side. A side uses its two rooms in turn. So the receiver can use a payload in
// place while the next payload arrives. The trainer's bell, lane and rooms come before the
// companion's.
const (
	lineBytes = 64
	laneSlots = 64 // headers in transit: a model emits many gradients in a call
	laneBytes = (2 + laneSlots) * lineBytes
	headBytes = 2*shm.BellSize + 2*laneBytes
)

// segmentBytes returns the size in bytes of a segment with n bytes in each room.
func segmentBytes(n int) int { return headBytes + 4*((n+lineBytes-1)/lineBytes*lineBytes) }

// rest is the flag of a header that continues a payload larger than its room. The header's field
// Link holds the number of bytes in the room, because a link in memory has no other use for that
// field.
const rest = 1

// lane carries headers in one direction, in a ring of slots. The sender owns a slot until it
// advances sent past the slot. The receiver then owns the slot until it advances taken. A header
// with a payload also occupies the next room, and for longer: the receiver may use the payload until
// it has taken the next header with a payload.
type lane struct {
	sent, taken *atomic.Uint32 // in the segment; only one side writes each
	slots       *[laneSlots][wire.HeaderSize]byte
	at          uint32 // this side's own count, since the peer can write to the segment
}

func laneAt(at []byte) lane {
	return lane{
		sent:  (*atomic.Uint32)(unsafe.Pointer(&at[0])),                                                                    // #nosec G103 -- a word of the segment
		taken: (*atomic.Uint32)(unsafe.Pointer(&at[lineBytes])),                                                            // #nosec G103 -- likewise
		slots: (*[laneSlots][wire.HeaderSize]byte)(unsafe.Pointer((*[laneSlots * wire.HeaderSize]byte)(at[2*lineBytes:]))), // #nosec G103 -- likewise
	}
}

// rooms are the payload rooms of one side. turn counts the payloads that the side has put into
// them.
type rooms struct {
	halves [2][]byte
	turn   int
}

func roomsAt(at []byte) (r rooms) {
	half := len(at) / 2
	r.halves = [2][]byte{at[:half:half], at[half:]}
	return r
}

// next returns the room for the next payload.
func (r *rooms) next() []byte { return r.halves[r.turn%2] }
