package comm

import (
	"time"

	"golang.org/x/sys/unix"
)

// clockStart and clockBase tie Go's monotonic clock to CLOCK_MONOTONIC once per
// process, so that stamps of all processes of a host share one origin.
var clockStart, clockBase = func() (time.Time, int64) {
	var ts unix.Timespec
	now := time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return now, 0
	}
	return now, ts.Nano()
}()

// Now is the time in ns since the origin of CLOCK_MONOTONIC.
func Now() int64 { return clockBase + int64(time.Since(clockStart)) }
