package machine

import (
	"time"

	"github.com/psbench/psbench/internal/comm/limits"
)

// Clock is the clock of the time stamps.
type Clock struct {
	Source string `json:"source,omitempty"` // the kernel's name, e.g. tsc
	// StepNS is the smallest step observed between two readings.
	StepNS int64 `json:"step_ns,omitempty"`
}

// readings is the number of readings for the step; they take about 50 µs.
const readings = 1000

// step returns the smallest step between two readings, or 0 if the clock stood still.
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

// Copy is the speed at which several cores together copied memory.
type Copy struct {
	// GBps counts 10^9 bytes per second; each byte is read and written.
	GBps  float64 `json:"gbps"`
	Bytes int     `json:"bytes"` // source plus destination
	Cores int     `json:"cores"`
}

// The copy is small enough to take about 20 ms and larger than the private caches of the cores. A shared cache may
// hold it.
const (
	copied    = 64 << 20
	copyTime  = 30 * time.Millisecond
	mostCores = 8
)

// MeasureCopy measures copying memory for about 50 ms; no other measurement may run meanwhile. It returns nil if
// the memory is not available.
func MeasureCopy() *Copy {
	cores := min(limits.Cores(), mostCores)
	gbps, err := limits.Bandwidth(cores, copied, copyTime)
	if err != nil {
		return nil
	}
	return &Copy{GBps: gbps, Bytes: copied, Cores: cores}
}
