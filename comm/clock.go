package comm

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// clockStart and clockBase tie Go's monotonic clock to CLOCK_MONOTONIC once per
// process, so that stamps of all processes of a host share one origin.
var clockStart, clockBase = tieClocks()

// clockReadings is how often the clocks are read together. One reading is wrong by a
// time slice where the process loses its core in the middle of it, as it well may while
// a run starts.
const clockReadings = 16

// tieClocks reads both clocks at the same moment: of several readings it takes the
// shortest, whose length bounds the error.
func tieClocks() (start time.Time, baseNS int64) {
	shortest := time.Duration(math.MaxInt64)
	for range clockReadings {
		var ts unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return before, 0
		}
		if took := time.Since(before); took < shortest {
			shortest, start, baseNS = took, before.Add(took/2), ts.Nano()
		}
	}
	return start, baseNS
}

// Now is the time in ns since the origin of CLOCK_MONOTONIC.
func Now() int64 { return clockBase + int64(time.Since(clockStart)) }
