package op

// Span is a run of elements of a dense bucket that moves as one frame.
type Span struct {
	From, To int
	Owner    int // the position of the member whose shard it is part of, where members have shards
}

// Stage is what a ring does with a bucket where its member stands for others too, those of its
// host: so that work in their memory goes on while the frames before and after are on the wire.
type Stage interface {
	// Prepare is called with each span before its values are first read: in the member's own
	// gradient they must then be what the host has of it.
	Prepare(Span)
	// Finish is called with each span once its values are final; they may still be read.
	Finish(Span)
	// Values are those of the gradient of a member that this one stands for.
	Values(position int) []float32
}
