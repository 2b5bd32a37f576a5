package machine

import (
	"time"

	"github.com/psbench/psbench/internal/comm/limits"
)

// Clock describes the clock of all timestamps.
type Clock struct {
	Source string `json:"source,omitempty"` // the kernel's name for the clock source, such as tsc
	// StepNS is the smallest difference that was observed between two readings.
	StepNS int64 `json:"step_ns,omitempty"`
}

// readings is the number of readings that step takes. All readings together take about 50 µs.
const readings = 1000

// step returns the smallest difference between two readings, or 0 if the clock did not advance.
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
	// GBps is the speed in 10^9 bytes per second. Each byte is read and written.
	GBps  float64 `json:"gbps"`
	Bytes int     `json:"bytes"` // source and destination together
	Cores int     `json:"cores"`
}

// The copied memory is so small that a copy takes about 20 ms. The copied memory is larger than the private caches of
// the cores, but a shared cache may hold it.
const (
	copied    = 64 << 20
	copyTime  = 30 * time.Millisecond
	mostCores = 8
)

// MeasureCopy measures the speed of copying memory. The measurement takes about 50 ms, and no other measurement may run
// at the same time. MeasureCopy returns nil if the memory is not available.
func MeasureCopy() *Copy {
	cores := min(limits.Cores(), mostCores)
	gbps, err := limits.Bandwidth(cores, copied, copyTime)
	if err != nil {
		return nil
	}
	return &Copy{GBps: gbps, Bytes: copied, Cores: cores}
}
