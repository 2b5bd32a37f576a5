package dataparallel

// IterationMetric is the type of the series for the phases of an iteration, with keys
// {epoch},{index}. The phases of one iteration do not overlap. Lookup and forward pass are phases
// too, but their series have other types.
const IterationMetric = "iteration_metric"

// The series of IterationMetric. RunEpoch records Data, and a Reducer records Backward and Exposed.
// A trainer records the other phases that it has.
const (
	// Data is the time that the trainer needs to get its next batch.
	Data = "data"
	// Backward is the backward pass of criterion and model, until the trainer starts to wait. During
	// that time, the trainer passes buckets to the hook.
	Backward = "backward"
	// Exposed is the time during which the trainer only waits for its reductions: communication that
	// does not overlap with the backward pass.
	Exposed = "exposed communication"
	// Optimizer is the time of the trainer's optimizer step.
	Optimizer = "optimizer"
	// ExposedUpdate is the time during which the trainer waits for the servers to update their tables.
	// ExposedUpdate is also exposed communication, but includes no wait for other trainers.
	ExposedUpdate = "exposed update"
	// Parameters is the time for copying a server's parameters to the rank's parameters.
	Parameters = "parameters"
)

// StagingMetric is the type of the series for copies between an engine's memory and the buckets,
// with keys {batch},{bucket}. Only engines whose memory Go cannot access need these copies. The
// copies overlap with the phases of an iteration.
const StagingMetric = "staging_metric"

// Bus is the counter of StagingMetric: the bytes of buckets copied between an engine's memory and
// host memory. Bus is 0 if ranks share buckets on a device.
const Bus = "bus"

// The series of StagingMetric.
const (
	// CopyOut is the time from the completion of the bucket's first gradient until all its gradients
	// are in the bucket.
	CopyOut = "copy out"
	// CopyIn is the time for copying the reduced bucket to its gradients, or to the parameters.
	CopyIn = "copy in"
)
