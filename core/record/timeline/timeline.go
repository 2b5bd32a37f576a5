// Package timeline shows what the ranks of a run did and when, by their stamps: spans on lanes, and arrows between
// spans that caused each other. Pages and traces draw it.
package timeline

// Timeline is a range of iterations of a run. All times are in ns from StartNS, on the clock of the core's host.
type Timeline struct {
	StartNS int64 // on the clock of the series
	// Tracks are trainers and then servers, in rank order.
	Tracks []Track
	// Arrows lead from the push of a bucket to the server's work on it, and from there to the answer. In an
	// all-reduce they lead from the last arrival to the end on the other ranks, with tables from a lookup or update
	// to the work of each server and back. The arrival of a single push is not stamped, so its arrow ends at the
	// earliest possible moment.
	Arrows []Arrow
}

// Track is one rank.
type Track struct {
	Rank  int
	Name  string // of its process: trainer0, server1; with several hosts also its host: trainer0 on node2 (± 120 µs)
	Kind  string // trainer or server
	Lanes []Lane
}

// The names of lanes.
const (
	Compute       = "compute"       // the parts of iterations, which never overlap
	Communication = "communication" // buckets on their way, from push to reply
	Work          = "work"          // a server's work on buckets
	Device        = "device"        // phases of kernels of a CUDA rank, and copies between them
	DeviceCopies  = "device copies" // buckets on their way between its device and ordinary memory
)

// Evaluation is the name of the span in which a trainer evaluates its held-out samples. It is on the compute lane,
// after the iteration that ends an epoch.
const Evaluation = "evaluation"

// Lane holds spans of one sort in the order of their starts. Spans of a lane either nest or do not overlap; others
// go to another lane of the same name.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is one activity or wait of a rank.
type Span struct {
	Name    string // forward, bucket 2, ...
	StartNS int64
	EndNS   int64
	// Iteration counts from 0 through all epochs of the pass; -1 if the stamp has none.
	Iteration int64
	// Bucket is -1 if the span belongs to no bucket.
	Bucket int
}

// Arrow leads from one span to another that it caused to begin or end.
type Arrow struct{ From, To Place }

// Place is a moment in a span.
type Place struct {
	Track, Lane, Span int
	AtNS              int64
}
