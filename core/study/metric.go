package study

// Better says which of two values of a metric is the better one.
type Better string

// The directions of metrics.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Metric is one number of a run.
type Metric struct {
	Name string
	// Unit is as in docs/metrics.md, e.g. "ms".
	Unit   string
	Better Better
}

// Throughput is the metric that runs are compared by unless another is chosen.
const Throughput = "throughput"
