package shared

import (
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/comm/shm"
)

// The memory of a link through shared memory. Each side has a control segment with its bell in
// the first cache line; what follows are lines that one side fills and the other
// reads, in turns. Payload and the plain fields of a line are written first, then
// the sequence, atomically (release); a reader loads the sequence (acquire) and then
// reads them. Go's atomics are sequentially consistent, which is what the bells need
// as well: a sequence is stored before the bell is looked at.

// pushLine is the slot of one trainer and bucket. The trainer owns it and the
// gradient while pushed == answered, the server otherwise.
type pushLine struct {
	pushed   atomic.Uint32 // counts pushes; set by the trainer
	answered atomic.Uint32 // follows it; set by the server
	place    int32         // whether the gradient lies in the store or in the copies
	rows     int32         // of a sparse gradient, pushed or answered
	batch    int64
	pushedNS int64
	answerNS int64
	order    uint32 // of the push among all of the link, from 0
	_        [lineBytes - 44]byte
}

// Places of a gradient.
const (
	inStore int32 = iota
	inCopies
)

// callLine is the slot of a trainer at the server of a table. The trainer owns it, and
// the memory of its lookups, while posted == answered.
type callLine struct {
	posted   atomic.Uint32 // counts calls; set by the trainer
	answered atomic.Uint32 // follows it; set by the server
	bags     int64
	indices  int64
	batch    int64
	postedNS int64
	answerNS int64
	kind     int32
	_        [lineBytes - 52]byte
}

// stepLine is a member's entry in a group for one operation.
type stepLine struct {
	posted atomic.Uint32 // the operation's number plus 1
	kind   int32
	bucket int32
	root   int32
	place  int32
	rows   int32
	batch  int64
	_      [lineBytes - 32]byte
}

// wordLine is a counter in a cache line of its own.
type wordLine struct {
	atomic.Uint32
	_ [lineBytes - 4]byte
}

// linesOf is the memory from byte at on as n lines of type T.
func linesOf[T pushLine | callLine | stepLine | wordLine](s *shm.Segment, at, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&s.Bytes()[at])), n)
}

// bellOf is the bell of a control segment.
func bellOf(s *shm.Segment) shm.Bell { return shm.NewBell(s.Bytes()[:shm.BellSize]) }

// pushControlSize is the size of a trainer's control segment in bytes.
func pushControlSize(buckets int) int { return roundUp(shm.BellSize+lineBytes*buckets, pageBytes) }

// pushLines are the slots of a trainer's control segment, by place in the specs.
func pushLines(control *shm.Segment, buckets int) []pushLine {
	return linesOf[pushLine](control, shm.BellSize, buckets)
}

// callControlSize is the size of a trainer's control segment for one table in bytes.
func callControlSize() int { return roundUp(shm.BellSize+lineBytes, pageBytes) }

// callLineOf is the slot of such a control segment.
func callLineOf(control *shm.Segment) *callLine {
	return &linesOf[callLine](control, shm.BellSize, 1)[0]
}
