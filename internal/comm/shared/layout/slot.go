// Package layout says what lies where in the segments of links through shared memory: slots
// and counters, and stores.
package layout

import (
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// The memory of a link through shared memory. Each side has a control segment with its bell in
// the first cache line; what follows are lines that one side fills and the other
// reads, in turns. Payload and the plain fields of a line are written first, then
// the sequence, atomically (release); a reader loads the sequence (acquire) and then
// reads them. Go's atomics are sequentially consistent, which is what the bells need
// as well: a sequence is stored before the bell is looked at.

// PushLine is the slot of one trainer and bucket. The trainer owns it and the
// gradient while Pushed == Answered, the server otherwise.
type PushLine struct {
	Pushed   atomic.Uint32 // counts pushes; set by the trainer
	Answered atomic.Uint32 // follows it; set by the server
	Place    int32         // of the gradient: InStore, InCopies or InPieces
	Rows     int32         // of a sparse gradient, pushed or answered
	Batch    int64
	PushedNS int64
	AnswerNS int64
	Order    uint32 // of the push among all of the link, from 0
	_        [LineBytes - 44]byte
}

// Places of a gradient: the store, the copies of gradients from elsewhere, memory of its process
// alone, which goes to a server in pieces and to the members of a group in chunks, or memory of a device
// that its neighbours have imported.
const (
	InStore int32 = iota
	InCopies
	InProcess
	InPieces
	OnDevice
)

// Window is a rank's bucket as its neighbours find it: in the store, or in the copies while
// its gradient is one from elsewhere, unless they are to find that where it is.
type Window struct {
	Stored, Copied *tensor.Bucket
	Lent           *tensor.Bucket // nil unless neighbours have imported it
	Place          int32          // of the gradient in flight

	used bool // the pages of Copied are there
}

// Locate says where neighbours are to find g.
func (w *Window) Locate(g *tensor.Gradient) {
	switch {
	case g.SameValues(&w.Stored.Gradient):
		w.Place = InStore
	case w.Lent != nil && g.SameValues(&w.Lent.Gradient):
		w.Place = OnDevice
	default:
		w.Place = InCopies
	}
}

// Bucket is where they find it, unless that is in the process.
func (w *Window) Bucket() *tensor.Bucket {
	switch w.Place {
	case InCopies:
		return w.Copied
	case OnDevice:
		return w.Lent
	}
	return w.Stored
}

// Show puts there what neighbours read of g: the rows, and all of a gradient from
// elsewhere. Its first copy touches the pages, for which there may be no room.
func (w *Window) Show(owner string, g *tensor.Gradient) error {
	if w.Place == InCopies {
		if !w.used {
			if err := Reserve(owner, &w.Copied.BucketSpec); err != nil {
				return err
			}
			w.used = true
		}
		if err := w.Copied.Gradient.CopyFrom(g); err != nil {
			return err
		}
	}
	w.Bucket().ShowRows(g.Rows)
	return nil
}

// Fetch makes g what is there now; but for the copies its values are there already.
func (w *Window) Fetch(g *tensor.Gradient) error {
	switch w.Place {
	case InCopies:
		return g.CopyFrom(&w.Copied.Gradient)
	case InStore:
		*g = w.Stored.Gradient
	case OnDevice:
		*g = w.Lent.Gradient
	}
	return nil
}

// CallLine is the slot of a trainer at the server of a table. The trainer owns it, and
// the memory of its lookups, while Posted == Answered.
type CallLine struct {
	Posted   atomic.Uint32 // counts calls; set by the trainer
	Answered atomic.Uint32 // follows it; set by the server
	Bags     int64
	Indices  int64
	Batch    int64
	PostedNS int64
	AnswerNS int64
	Kind     int32
	_        [LineBytes - 52]byte
}

// StepLine is a member's entry in a group for one operation.
type StepLine struct {
	Posted atomic.Uint32 // the operation's number plus 1
	Kind   int32
	Bucket int32
	Root   int32
	Place  int32
	Rows   int32
	Batch  int64
	_      [LineBytes - 32]byte
}

// WordLine is a counter in a cache line of its own, with a word that its writer sets once.
type WordLine struct {
	atomic.Uint32
	Mark atomic.Uint32
	_    [LineBytes - 8]byte
}

// LinesOf is the memory from byte at on as n lines of type T.
func LinesOf[T PushLine | PieceLine | TermsLine | CallLine | StepLine | WordLine](s *shm.Segment, at, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&s.Bytes()[at])), n)
}

// BellOf is the bell of a control segment.
func BellOf(s *shm.Segment) shm.Bell { return shm.NewBell(s.Bytes()[:shm.BellSize]) }

// PushControlBytes is the size of a trainer's control segment in bytes: the bell, the server's
// terms, a PushLine for each bucket, and then a PieceLine for each.
func PushControlBytes(buckets int) int {
	return RoundUp(shm.BellSize+LineBytes*(1+2*buckets), PageBytes)
}

// PushLines are the slots of a trainer's control segment, in the order of the specs.
func PushLines(control *shm.Segment, buckets int) []PushLine {
	return LinesOf[PushLine](control, shm.BellSize+LineBytes, buckets)
}

// CallControlBytes is the size of a trainer's control segment for one table in bytes.
func CallControlBytes() int { return RoundUp(shm.BellSize+LineBytes, PageBytes) }

// CallLineOf is the slot of such a control segment.
func CallLineOf(control *shm.Segment) *CallLine {
	return &LinesOf[CallLine](control, shm.BellSize, 1)[0]
}
