package dataparallel

// IterationMetric is the type of the series that say what an iteration is made of, each keyed
// {epoch},{index}. The parts of one iteration do not overlap. Lookup and forward pass, which
// are parts too, have series of their own.
const IterationMetric = "iteration_metric"

// The series of IterationMetric. RunEpoch records Data; a Reducer records Backward and
// Exposed; a trainer records what comes after those, as far as it has it.
const (
	// Data is the time in which the trainer gets its next batch.
	Data = "data"
	// Backward is the backward pass of criterion and model, in which buckets are handed to
	// the hook, until the trainer begins to wait.
	Backward = "backward"
	// Exposed is the time in which the trainer does nothing but wait for its reductions:
	// what of the communication the backward pass did not hide.
	Exposed = "exposed communication"
	// Optimizer is the step of the trainer's optimizer.
	Optimizer = "optimizer"
	// ExposedUpdate is the time in which the trainer waits for the servers' tables to be
	// updated. It is exposed communication too, but no other trainer is waited for.
	ExposedUpdate = "exposed update"
	// Parameters is the time in which the parameters that a server sent take their place.
	Parameters = "parameters"
)

// StagingMetric is the type of the series that say when a bucket is copied between the memory of
// an engine and the bucket, each keyed {batch},{bucket}, where Go cannot touch that memory. They
// overlap with the parts of an iteration.
const StagingMetric = "staging_metric"

// Bus is the counter of StagingMetric: the bytes of buckets that were copied between the memory of an
// engine and that of the host. It is 0 where ranks share buckets on a device.
const Bus = "bus"

// The series of StagingMetric.
const (
	// CopyOut is from the moment at which the bucket's first gradient is complete until all
	// of them are in the bucket.
	CopyOut = "copy out"
	// CopyIn is the copy of the reduced bucket to its gradients, or to the parameters.
	CopyIn = "copy in"
)
