// Package timeline shows what the ranks of a run did at which time, from their measurements. A timeline consists of
// spans on lanes, and of arrows between spans. An arrow means that one span caused another to begin or end. Pages and
// traces draw timelines.
package timeline

// Timeline covers a range of iterations of a run. All times are in ns since StartNS, on the clock of the core's host.
type Timeline struct {
	StartNS int64 // on the clock of the series
	// Tracks contains the trainers in rank order, followed by the servers in rank order.
	Tracks []Track
	// Arrows lead from the push of a bucket to the server's work on the bucket, and from this work to the answer. In an
	// all-reduce, an arrow leads from the last arrival to the end on each other rank. With tables, an arrow leads from
	// a lookup or update to the work of each server, and another leads back. The arrival of a single push is not
	// recorded, so its arrow ends at the earliest possible moment.
	Arrows []Arrow
}

// Track is one rank.
type Track struct {
	Rank  int
	Name  string // trainer0, or with several hosts trainer0 on node2 (± 120 µs)
	Kind  string // either trainer or server
	Lanes []Lane
}

// These are the names of lanes.
const (
	Compute       = "compute"       // parts of iterations, which never overlap
	Communication = "communication" // buckets in transfer, from push to reply
	Work          = "work"          // work of a server on buckets
	Device        = "device"        // phases of kernels of a CUDA rank, and copies between the phases
	DeviceCopies  = "device copies" // copies of buckets between its device and host memory
)

// Evaluation is the name of a span in which a trainer evaluates its held-out samples. The span is on the compute lane,
// after the iteration that ends an epoch.
const Evaluation = "evaluation"

// Lane holds spans of one kind, sorted by start. Two spans of a lane are either nested or do not overlap. If spans
// overlap in another way, they are on several lanes with the same name.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is one activity or wait of a rank.
type Span struct {
	Name    string // such as forward or bucket 2
	StartNS int64
	EndNS   int64
	// Iteration is counted from 0 through all epochs of the pass. Iteration is -1 if the measurement has no iteration.
	Iteration int64
	// Bucket is the index of a bucket, or -1 if the span belongs to no bucket.
	Bucket int
}

// Arrow leads from one span to another span that it caused to begin or end.
type Arrow struct{ From, To Place }

// Place is a moment in a span.
type Place struct {
	Track, Lane, Span int
	AtNS              int64
}
