package machine

import (
	"time"

	"github.com/psbench/psbench/internal/comm/limits"
)

// Clock is what time stamps are read from.
type Clock struct {
	Source string `json:"source,omitempty"` // of the kernel, e.g. tsc
	// StepNS is the smallest time that was seen to pass between two readings.
	StepNS int64 `json:"step_ns,omitempty"`
}

// readings is how often the clock is read for its step, which takes some 50 µs.
const readings = 1000

// step is the smallest that a clock made between two readings, 0 if it stood still.
func step(now func() int64) (smallest int64) {
	last := now()
	for range readings {
		next := now()
		if d := next - last; d > 0 && (smallest == 0 || d < smallest) {
			smallest = d
		}
		last = next
	}
	return smallest
}

// Copy is how fast some cores together copied memory.
type Copy struct {
	// GBps are 10^9 bytes a second, each of which is read and written.
	GBps  float64 `json:"gbps"`
	Bytes int     `json:"bytes"` // of source and destination
	Cores int     `json:"cores"`
}

// What is copied is little enough to be touched in some 20 ms, and more than the cores have of
// caches of their own. One that all share may hold it.
const (
	copied    = 64 << 20
	copyTime  = 30 * time.Millisecond
	mostCores = 8
)

// MeasureCopy measures copying memory, which takes some 50 ms: nothing else may be measured
// meanwhile. It is nil where there is no memory for that.
func MeasureCopy() *Copy {
	cores := min(limits.Cores(), mostCores)
	gbps, err := limits.Bandwidth(cores, copied, copyTime)
	if err != nil {
		return nil
	}
	return &Copy{GBps: gbps, Bytes: copied, Cores: cores}
}
