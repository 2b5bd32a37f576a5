package layout

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// Pushes in pieces. Piece k of a bucket, from 0 in each push, is as comm.PieceOf says, and goes through
// slot k modulo the number of slots. The slots lie one after the other where the bucket's values begin
// in the copies. The trainer fills a slot and raises Sent; the server makes what is there the answer and
// raises Given; then the slot is the trainer's again. A push in pieces is posted in its PushLine, once
// the first FirstPieces of them are sent, and answered there, once all are given.
//
// How many slots there are the sides agree on: the server offers a number in TakesPieces, the
// trainer takes no more than that and says in Slots how many. Where one side is older, and has the
// pieces in the other order, nothing is offered that the other knows, and gradients are copied whole.

// PieceSlots is how many pieces of a push are under way at a time, at most. The trainer is woken
// once for half of them (RingsAt), while the server works on the other half.
const PieceSlots = 8

// FirstPieces is with how many pieces a push begins, and the least number of slots.
const FirstPieces = 2

// PiecesFrom is the least dense bucket, in elements, that is pushed in pieces, 1 MiB. It has room for
// PieceSlots whole ones.
const PiecesFrom = PieceSlots * comm.PieceElements

// GoesInPieces says whether a bucket is, where the server takes pieces.
func GoesInPieces(spec *tensor.BucketSpec) bool { return !spec.Sparse && spec.Words() >= PiecesFrom }

// PieceLine counts the pieces of one trainer and bucket, in all pushes together. It begins at 0,
// and wraps.
type PieceLine struct {
	Sent  atomic.Uint32 // set by the trainer
	Given atomic.Uint32 // follows it; set by the server
	Slots atomic.Uint32 // how many there are; set by the trainer before its first piece
	_     [LineBytes - 12]byte
}

// TermsLine is what the sides say of a link: the server before it sends its doorbell, the trainer
// before it sends the segment. What an older side does not know stays 0.
type TermsLine struct {
	_           uint32        // where an older server offers pieces in the other order
	Lends       atomic.Uint32 // 1: the trainer's buckets lie in memory of a device
	Borrows     atomic.Uint32 // 1: the server imports them
	Returned    atomic.Uint32 // 1: it has closed what it had imported
	TakesPieces atomic.Uint32 // 0 if the server does not, else through how many slots
	_           [LineBytes - 20]byte
}

// SlotsOf is how many slots a trainer uses of those that a server offers.
func SlotsOf(offered uint32) int { return int(min(max(offered, FirstPieces), PieceSlots)) }

// SlotsSaid is how many slots a trainer uses that says so many. It is false if there cannot be so many.
func SlotsSaid(said uint32) (slots int, ok bool) {
	return int(said), FirstPieces <= said && said <= PieceSlots
}

// RingsAt says whether the server rings once so many of all pieces of a push are given: at each half
// of the slots and at the end.
//
// That is often enough. Say that the server waits for a piece of a push. All pieces that were sent
// are given then, and the trainer sleeps only if it had no free slot for that one and saw no answer,
// so as many answers as there are slots came since it looked. Among so many, one after the other, is
// one that ends a half, and for that it was rung. With FirstPieces slots it is every one.
func RingsAt(given, all, slots int) bool { return given%(slots/2) == 0 || given == all }

// Slot is the room of piece k among a bucket's values in the copies, where there are so many slots.
func Slot(copies []float32, k, slots int) []float32 {
	from, to := comm.PieceOf(len(copies), k)
	return copies[k%slots*comm.PieceElements:][:to-from]
}

// ReservePieces is Reserve of what pushes in pieces use of a bucket.
func ReservePieces(owner string, spec *tensor.BucketSpec, slots int) error {
	return shm.Reserve(fmt.Sprintf("the pieces of bucket %d of %s", spec.Index, owner),
		int64(4*slots*comm.PieceElements))
}

// PushTerms are the terms in a trainer's control segment.
func PushTerms(control *shm.Segment) *TermsLine {
	return &LinesOf[TermsLine](control, shm.BellSize, 1)[0]
}

// PieceLines are the piece lines of a trainer's control segment, in the order of the specs.
func PieceLines(control *shm.Segment, buckets int) []PieceLine {
	return LinesOf[PieceLine](control, shm.BellSize+LineBytes*(1+buckets), buckets)
}
