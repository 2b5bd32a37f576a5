package comm

import "github.com/psbench/psbench/comm/tensor"

// Arrival is a push that was received, or a chunk of it. The port owns it and
// uses it again for that trainer's next push of that bucket, so it is valid until
// it is answered.
type Arrival struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the port's connections
	// Chunk counts the chunks of a dense push from 0 where the port hands over
	// chunks, which arrive in order; Chunks is their number. A whole push is
	// chunk 0 of 1.
	Chunk, Chunks int
	// Gradient holds the push, or that chunk of its values; the server may
	// overwrite it until it answers.
	Gradient *tensor.Gradient
	// InPlace says that Gradient is where the trainer itself looks for the answer, so that an
	// answer which is written there is not copied again.
	InPlace bool
	// Pieces is set where the values of a dense push come piece by piece. Gradient then has as
	// many values, which nobody may touch, and answering with it says that every piece was given.
	Pieces Pieces
	// AtNS is when the last byte was received, in ns of Now; in shared memory, when the
	// trainer pushed.
	AtNS int64

	// More says that another trainer's push of the same bucket is there already and
	// will be handed over next: work on both at once saves a pass over memory.
	More bool

	// Answer sends g to the trainer in place of what it pushed. g may be Gradient,
	// which in shared memory costs nothing, for it is the trainer's own memory; it must stay
	// as it is until Answer returns. Each arrival is answered once, from any goroutine.
	// If the trainer does not take the answer, by its deadline or at all, the error
	// ends Serve as well.
	//
	// A trainer may push the bucket again as soon as it has its answer, even before
	// Answer returns: then the arrival already stands for the next push. The port sets it.
	Answer func(g *tensor.Gradient) error
}

// Pieces is a dense gradient that comes in PieceCount pieces, each as PieceOf says, while the
// answers to earlier ones go back. One goroutine at a time may use it, whichever.
type Pieces interface {
	// Fetch waits for the first piece that was not given and returns it; it may be overwritten.
	// The error is that of a trainer that is late or gone.
	Fetch() ([]float32, error)
	// Give answers that piece with src, which may be the piece itself.
	Give(src []float32) error
}
