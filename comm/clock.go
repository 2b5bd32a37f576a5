package comm

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// clockStart and clockBase tie Go's monotonic clock to CLOCK_MONOTONIC once per
// process, so that stamps of all processes of a host share one origin.
var clockStart, clockBase = tieClocks()

// clockReadings is how many times tieClocks reads both clocks. If the process
// loses its core in the middle of a reading, as happens while a run starts,
// that reading is wrong by a time slice.
const clockReadings = 16

// tieClocks reads both clocks together several times. tieClocks takes the
// shortest reading, whose length bounds the error.
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
