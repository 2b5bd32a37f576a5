package layout

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// Pushes in pieces. comm.PieceOf gives the range of piece k; each push counts
// its pieces from 0. Piece k goes through slot k modulo the number of slots.
// The slots lie one after the other at the start of the bucket's values in the
// copies.
//
// The trainer fills a slot and increments Sent. The server replaces the
// contents by the answer and increments Given; then the trainer owns the slot
// again. A push in pieces is posted in its PushLine once the first FirstPieces
// pieces are sent, and answered there once all pieces are given.
//
// The sides agree on the number of slots. The server offers a number in
// TakesPieces; the trainer takes at most that many and writes its number to
// Slots. An older version orders the pieces differently and uses another field
// for its offer. If one side is older, the trainer finds no offer, and
// gradients are copied whole.

// PieceSlots is the maximum number of pieces of a push in transit. The server
// wakes the trainer once per half of the slots (RingsAt) and works on the other
// half meanwhile.
const PieceSlots = 8

// FirstPieces is the number of pieces that a push must send before it is
// posted. FirstPieces is also the minimum number of slots.
const FirstPieces = 2

// PiecesFrom is the size of the smallest dense bucket, in words of 4 bytes,
// that is pushed in pieces: 1 MiB. Such a bucket has room for PieceSlots whole pieces.
const PiecesFrom = PieceSlots * comm.PieceElements

// GoesInPieces reports whether a bucket is pushed in pieces if the server
// accepts pieces.
func GoesInPieces(spec *tensor.BucketSpec) bool { return !spec.Sparse && spec.Words() >= PiecesFrom }

// PieceLine counts the pieces of one trainer and bucket, over all pushes. The
// counters start at 0 and wrap.
type PieceLine struct {
	Sent  atomic.Uint32 // set by the trainer
	Given atomic.Uint32 // at most Sent; set by the server
	Slots atomic.Uint32 // number of slots; set by the trainer before its first piece
	_     [LineBytes - 12]byte
}

// TermsLine holds the terms that the sides negotiate for a link. The server
// writes its terms before it sends its doorbell, the trainer before it sends
// the segment. Fields unknown to an older side stay 0.
type TermsLine struct {
	_           uint32        // older servers write their offer here, for pieces in the other order
	Lends       atomic.Uint32 // 1: the trainer's buckets lie in device memory
	Borrows     atomic.Uint32 // 1: the server imports the buckets
	Returned    atomic.Uint32 // 1: the server has closed its imports
	TakesPieces atomic.Uint32 // 0 if the server takes no pieces, else the number of slots that it offers
	_           [LineBytes - 20]byte
}

// SlotsOf is the number of slots that a trainer uses if a server offers this
// many.
func SlotsOf(offered uint32) int { return int(min(max(offered, FirstPieces), PieceSlots)) }

// SlotsSaid checks the number of slots that a trainer claims to use. ok is
// false if the number is not allowed.
func SlotsSaid(said uint32) (slots int, ok bool) {
	return int(said), FirstPieces <= said && said <= PieceSlots
}

// RingsAt reports whether the server rings the trainer's bell after giving this
// many pieces of a push. The server rings at each half of the slots and at the
// end.
//
// This rings often enough. Suppose the server waits for a piece that the
// trainer has not sent. Then the server has given all earlier pieces. The
// trainer sleeps only if it had no free slot for that piece and saw no answer.
// Since that check the server has given as many pieces as there are slots. One
// of these consecutive pieces ends a half of the slots, so the server rang for
// it. With FirstPieces slots the server rings for every piece.
func RingsAt(given, all, slots int) bool { return given%(slots/2) == 0 || given == all }

// Slot is the memory of piece k in the bucket's copies, for this number of
// slots.
func Slot(copies []float32, k, slots int) []float32 {
	from, to := comm.PieceOf(len(copies), k)
	return copies[k%slots*comm.PieceElements:][:to-from]
}

// ReservePieces is Reserve for the slots that pushes in pieces use.
func ReservePieces(owner string, spec *tensor.BucketSpec, slots int) error {
	return shm.Reserve(fmt.Sprintf("the pieces of bucket %d of %s", spec.Index, owner),
		int64(4*slots*comm.PieceElements))
}

// PushTerms is the TermsLine in a trainer's control segment.
func PushTerms(control *shm.Segment) *TermsLine {
	return &LinesOf[TermsLine](control, shm.BellSize, 1)[0]
}

// PieceLines are the piece lines of a trainer's control segment, in the order of the specs.
func PieceLines(control *shm.Segment, buckets int) []PieceLine {
	return LinesOf[PieceLine](control, shm.BellSize+LineBytes*(1+buckets), buckets)
}
