package call

import (
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// The segment of a call link: the bells of both sides, a lane for the headers of each, and two rooms
// for the payloads of each, which take turns, so that one that was read where it lies stays there
// while the next one comes. The trainer's come first.
const (
	lineBytes = 64
	laneSlots = 64 // headers that may be on their way: a model emits many gradients in a call
	laneBytes = (2 + laneSlots) * lineBytes
	headBytes = 2*shm.BellSize + 2*laneBytes
)

// segmentBytes is the size of a segment with n bytes in each room.
func segmentBytes(n int) int { return headBytes + 4*((n+lineBytes-1)/lineBytes*lineBytes) }

// rest is the flag of a header that begins no call but goes on with a payload that is larger
// than its room. How many bytes lie in the room is in Link, which a connection alone needs.
const rest = 1

// lane carries headers one way, in a ring of slots. A slot belongs to the sender until the sender has
// counted it in sent, and then to the receiver until the receiver has counted it in taken.
// A header with a payload takes a room with it.
type lane struct {
	sent, taken *atomic.Uint32 // in the segment, each written by one side alone
	slots       *[laneSlots][wire.HeaderSize]byte
	at          uint32 // this side's own count: what is in the segment the peer can write, too
}

func laneAt(at []byte) lane {
	return lane{
		sent:  (*atomic.Uint32)(unsafe.Pointer(&at[0])),                                                                    // #nosec G103 -- a word of the segment
		taken: (*atomic.Uint32)(unsafe.Pointer(&at[lineBytes])),                                                            // #nosec G103 -- likewise
		slots: (*[laneSlots][wire.HeaderSize]byte)(unsafe.Pointer((*[laneSlots * wire.HeaderSize]byte)(at[2*lineBytes:]))), // #nosec G103 -- likewise
	}
}

// rooms are those for the payloads of one side, and how many payloads it has filled them with.
type rooms struct {
	halves [2][]byte
	turn   int
}

func roomsAt(at []byte) (r rooms) {
	half := len(at) / 2
	r.halves = [2][]byte{at[:half:half], at[half:]}
	return r
}

// next is the room of the next payload.
func (r *rooms) next() []byte { return r.halves[r.turn%2] }
