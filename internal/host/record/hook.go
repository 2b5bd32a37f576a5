package record

// HookMetric is the type of the series that say how long a hook has a bucket before it first calls a
// link for it, each keyed {batch},{bucket}. A hook that calls none has it until the bucket is reduced.
const HookMetric = "hook_time_metric"

// The series of HookMetric. What of a bucket is in one of them is not in the other.
const (
	// HookBlocking is the time within Reduce, on the trainer's own goroutine.
	HookBlocking = "hook blocking"
	// HookBeside is the time in which the trainer goes on meanwhile, or waits for its reductions.
	HookBeside = "hook beside"
)
