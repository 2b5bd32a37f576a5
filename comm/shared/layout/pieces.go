package layout

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// Pushes in pieces. Piece k of a bucket, from 0 in each push, has PieceElements elements, the last
// one what is left, and goes through slot k modulo PieceSlots. The slots lie one after the other
// where the bucket's values begin in the copies. The trainer fills a slot and raises Sent; the
// server makes what is there the answer and raises Given; then the slot is the trainer's again. A
// push in pieces is posted in its PushLine, once PieceSlots of them are sent, and answered there,
// once all are given.

// PieceSlots is how many pieces of a push are under way at a time: one is copied while the
// server works on the other.
const PieceSlots = 2

// PiecesFrom is the least dense bucket, in elements, that is pushed in pieces, 1 MiB.
const PiecesFrom = 8 * comm.PieceElements

// GoesInPieces says whether a bucket is, where the server takes pieces.
func GoesInPieces(spec *tensor.BucketSpec) bool { return !spec.Sparse && spec.Elements >= PiecesFrom }

// PieceLine counts the pieces of one trainer and bucket, in all pushes together. It begins at 0,
// and wraps.
type PieceLine struct {
	Sent  atomic.Uint32 // set by the trainer
	Given atomic.Uint32 // follows it; set by the server
	_     [LineBytes - 8]byte
}

// TermsLine is what a server says of a link, before it sends its doorbell.
type TermsLine struct {
	TakesPieces atomic.Uint32 // not 0 if it does
	_           [LineBytes - 4]byte
}

// PieceOf is from where to where piece k of a bucket of so many elements reaches.
func PieceOf(elements, k int) (from, to int) {
	return k * comm.PieceElements, min((k+1)*comm.PieceElements, elements)
}

// Slot is the room of piece k among a bucket's values in the copies.
func Slot(copies []float32, k int) []float32 {
	from, to := PieceOf(len(copies), k)
	return copies[k%PieceSlots*comm.PieceElements:][:to-from]
}

// ReservePieces is Reserve of what pushes in pieces use of a bucket.
func ReservePieces(owner string, spec *tensor.BucketSpec) error {
	return shm.Reserve(fmt.Sprintf("the pieces of bucket %d of %s", spec.Index, owner), 4*PieceSlots*comm.PieceElements)
}

// PushTerms are the terms in a trainer's control segment.
func PushTerms(control *shm.Segment) *TermsLine {
	return &LinesOf[TermsLine](control, shm.BellSize, 1)[0]
}

// PieceLines are the piece lines of a trainer's control segment, in the order of the specs.
func PieceLines(control *shm.Segment, buckets int) []PieceLine {
	return LinesOf[PieceLine](control, shm.BellSize+LineBytes*(1+buckets), buckets)
}
