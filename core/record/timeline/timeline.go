// Package timeline is what the ranks of a run did and when, as they stamped it: spans on lanes, and
// arrows between the spans that caused each other. Pages and traces draw it.
package timeline

// Timeline is some iterations of a run. All times are in ns from StartNS, on the clock of the core's host.
type Timeline struct {
	StartNS int64 // on the clock of the series
	// Tracks are trainers and then servers, in the order of their ranks.
	Tracks []Track
	// Arrows lead from the push of a bucket to the server's work on it, and from there to the answer;
	// of an all-reduce from its last arrival to its end on the other ranks; of tables from a lookup or an
	// update to the work of each server, and back. When a single push arrived is not stamped: the arrow
	// ends at the earliest moment at which it can have.
	Arrows []Arrow
}

// Track is one rank.
type Track struct {
	Rank  int
	Name  string // as of its process: trainer0, server1; on several hosts with its host: trainer0 on node2 (± 120 µs)
	Kind  string // trainer or server
	Lanes []Lane
}

// The names of lanes.
const (
	Compute       = "compute"       // the parts of iterations, which never overlap
	Communication = "communication" // buckets on their way, from push to answer
	Work          = "work"          // a server's work on buckets
	Device        = "device"        // phases of kernels of a CUDA rank, and what is copied between them
	DeviceCopies  = "device copies" // buckets on their way between its device and ordinary memory
)

// Evaluation is the name of the span in which a trainer evaluates its held-out samples. It is on the lane of
// the parts of iterations, and follows the one that ends an epoch.
const Evaluation = "evaluation"

// Lane is spans of one sort in the order of their starts. Spans of a lane either nest or do not overlap:
// what overlaps otherwise is on a lane of the same name after it.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is something that a rank did or waited for.
type Span struct {
	Name    string // forward, bucket 2, ...
	StartNS int64
	EndNS   int64
	// Iteration counts from 0 through all epochs of the pass; -1 of what was stamped without one.
	Iteration int64
	// Bucket is -1 of what is no bucket's.
	Bucket int
}

// Arrow is what one span led to: another one that began, or ended, after it.
type Arrow struct{ From, To Place }

// Place is a moment in a span.
type Place struct {
	Track, Lane, Span int
	AtNS              int64
}
