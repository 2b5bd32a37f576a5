package comm

import "github.com/psbench/psbench/comm/tensor"

// Arrival is a received push, or a chunk of one. An Arrival is valid until the
// server answers it: the port reuses it for the trainer's next push of the
// bucket.
type Arrival struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the port's connections
	// Chunk is the index of this chunk of a dense push, from 0; Chunks is their
	// number. Some ports hand a push over in chunks, in order. A whole push is
	// chunk 0 of 1.
	Chunk, Chunks int
	// Gradient holds the push, or the chunk's values. The server may overwrite it until
	// it answers.
	Gradient *tensor.Gradient
	// InPlace says that the trainer reads the answer from Gradient, so an answer written
	// there is not copied.
	InPlace bool
	// Pieces is set if the values of a dense push arrive piece by piece.
	// Gradient then has the push's length, but the server must not touch its
	// values. If the server passes Gradient to Answer, it must have given every
	// piece before. Another gradient is given piece by piece in Answer.
	Pieces Pieces
	// AtNS is when the last byte arrived, in ns of Now. In shared memory it is when the trainer
	// pushed.
	AtNS int64

	// More says that the port hands over another trainer's push of the same bucket next. Work
	// on both at once saves a pass over memory.
	More bool

	// Answer sends g to the trainer, and g replaces the trainer's gradient. In
	// shared memory an answer with Gradient itself costs nothing. The caller
	// must not change g until Answer returns. The server answers each arrival
	// once, from any goroutine. If the trainer does not accept the answer by
	// its deadline, the error ends Serve as well.
	//
	// A trainer may push the bucket again as soon as it has the answer, even
	// before Answer returns. The Arrival may then already describe the next
	// push. The port sets Answer.
	Answer func(g *tensor.Gradient) error
}

// Pieces is a dense gradient in PieceCount pieces, cut by PieceOf. The server
// answers each piece while later pieces arrive. Any goroutine may call Pieces,
// but only one at a time.
type Pieces interface {
	// Fetch waits for the first unanswered piece and returns it. The caller may overwrite it.
	// The error is a *WaitError if the trainer is late and a *PeerError if it is gone.
	Fetch() ([]float32, error)
	// Give answers the piece with src, which may be the piece itself.
	Give(src []float32) error
}
