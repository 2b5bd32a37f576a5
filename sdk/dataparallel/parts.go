package dataparallel

// IterationMetric is the type of the series for the phases of an iteration, each keyed
// {epoch},{index}. The phases of one iteration do not overlap. Lookup and forward pass are phases
// too, but have series of other types.
const IterationMetric = "iteration_metric"

// The series of IterationMetric. RunEpoch records Data, and a Reducer records Backward and Exposed.
// A trainer records those of the others that it has.
const (
	// Data is the time in which the trainer gets its next batch.
	Data = "data"
	// Backward is the backward pass of criterion and model, until the trainer begins to wait. The
	// trainer hands buckets to the hook meanwhile.
	Backward = "backward"
	// Exposed is the time in which the trainer only waits for its reductions: the communication
	// that does not overlap with the backward pass.
	Exposed = "exposed communication"
	// Optimizer is the step of the trainer's optimizer.
	Optimizer = "optimizer"
	// ExposedUpdate is the time in which the trainer waits for the servers to update their tables.
	// It is exposed communication too, but includes no wait for other trainers.
	ExposedUpdate = "exposed update"
	// Parameters is the time in which the trainer copies a server's parameters to their place.
	Parameters = "parameters"
)

// StagingMetric is the type of the series for copies between an engine's memory and the buckets,
// each keyed {batch},{bucket}. Only engines whose memory Go cannot touch have them. The copies
// overlap with the phases of an iteration.
const StagingMetric = "staging_metric"

// Bus is the counter of StagingMetric: the bytes of buckets that were copied between an engine's
// memory and the host's. It is 0 if ranks share buckets on a device.
const Bus = "bus"

// The series of StagingMetric.
const (
	// CopyOut lasts from the completion of the bucket's first gradient until all its gradients
	// are in the bucket.
	CopyOut = "copy out"
	// CopyIn is the copy of the reduced bucket to its gradients, or to the parameters.
	CopyIn = "copy in"
)
