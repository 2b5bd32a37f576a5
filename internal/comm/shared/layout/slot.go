// Package layout defines the memory layout of segments for links through shared
// memory: slots, counters and stores.
package layout

import (
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// The memory of a link through shared memory. Each side has a control segment
// with its bell in the first cache line. Lines come next: one side writes a
// line and the other side reads it, in turns. The writer stores the payload and
// the plain fields of a line first and then the sequence, atomically (release).
// A reader loads the sequence (acquire) and then reads the rest. Go's atomics
// are sequentially consistent, as the bells require: a side stores a sequence
// before it checks the bell.

// PushLine is the slot of one trainer and bucket. The trainer owns the slot and
// the gradient while Pushed == Answered; otherwise the server owns them.
type PushLine struct {
	Pushed   atomic.Uint32 // number of pushes; set by the trainer
	Answered atomic.Uint32 // number of answers; set by the server
	Place    int32         // place of the gradient: InStore, InCopies or InPieces
	Rows     int32         // number of rows of a sparse gradient, in the push or the answer
	Batch    int64
	PushedNS int64
	AnswerNS int64
	Order    uint32 // number of the push among all pushes of the link, from 0
	_        [LineBytes - 44]byte
}

// Places of a gradient. InStore is the store. InCopies holds copies of
// gradients from other memory. InProcess (in groups) and InPieces (in pushes to
// a server) mean ordinary memory of the process; such gradients travel in
// chunks or in pieces. OnDevice is device memory that peers have imported.
const (
	InStore int32 = iota
	InCopies
	InProcess
	InPieces
	OnDevice
)

// Window is a rank's bucket as its peers see it. Peers find the bucket's
// gradient in the store, in the copies, or in imported device memory.
type Window struct {
	Stored, Copied *tensor.Bucket
	Lent           *tensor.Bucket // nil unless peers have imported it
	Place          int32          // place of the gradient in flight

	used bool // the pages of Copied are allocated
}

// Locate sets Place to the place where peers will find g.
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

// Bucket returns the bucket that peers find, unless the gradient is in the
// process's own memory.
func (w *Window) Bucket() *tensor.Bucket {
	switch w.Place {
	case InCopies:
		return w.Copied
	case OnDevice:
		return w.Lent
	}
	return w.Stored
}

// Show publishes g: its rows and, in the copies, also its values. The first
// copy allocates the pages, so Show first checks that there is enough memory.
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

// Fetch updates g to the current result. Fetch copies values only from the
// copies; elsewhere the values are already in place.
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

// CallLine is a trainer's slot at a table's server. The trainer owns the slot,
// and the memory of its lookups, while Posted == Answered.
type CallLine struct {
	Posted   atomic.Uint32 // number of calls; set by the trainer
	Answered atomic.Uint32 // number of answers; set by the server
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

// WordLine is a counter in its own cache line, with a second word, Mark, that
// its writer sets once.
type WordLine struct {
	atomic.Uint32
	Mark atomic.Uint32
	_    [LineBytes - 8]byte
}

// LinesOf interprets the memory from byte at on as n lines of type T.
func LinesOf[T PushLine | PieceLine | TermsLine | CallLine | StepLine | WordLine](s *shm.Segment, at, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&s.Bytes()[at])), n)
}

// BellOf returns the bell of a control segment.
func BellOf(s *shm.Segment) shm.Bell { return shm.NewBell(s.Bytes()[:shm.BellSize]) }

// PushControlBytes is the size of a trainer's control segment in bytes: the bell, the server's
// terms, a PushLine for each bucket, and then a PieceLine for each.
func PushControlBytes(buckets int) int {
	return RoundUp(shm.BellSize+LineBytes*(1+2*buckets), PageBytes)
}

// PushLines returns the slots of a trainer's control segment, in the order of
// the specs.
func PushLines(control *shm.Segment, buckets int) []PushLine {
	return LinesOf[PushLine](control, shm.BellSize+LineBytes, buckets)
}

// CallControlBytes is the size in bytes of a trainer's control segment for one
// table.
func CallControlBytes() int { return RoundUp(shm.BellSize+LineBytes, PageBytes) }

// CallLineOf returns the slot in a trainer's control segment for one table.
func CallLineOf(control *shm.Segment) *CallLine {
	return &LinesOf[CallLine](control, shm.BellSize, 1)[0]
}
