package comm

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/comm/commtest"
)

// Now lies between two readings of the kernel's clock, within the error of
// tying the clocks.
func TestNowIsTheMonotonicClock(t *testing.T) {
	const errorNS = 5000
	read := func() int64 {
		var ts unix.Timespec
		commtest.Must(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
		return ts.Nano()
	}
	for range 1000 {
		before, now, after := read(), Now(), read()
		if now < before-errorNS || now > after+errorNS {
			t.Fatalf("Now is %d between readings of %d and %d", now, before, after)
		}
	}
	for range 100 {
		start, baseNS := tieClocks()
		if off := baseNS - clockBase - start.Sub(clockStart).Nanoseconds(); off < -errorNS || off > errorNS {
			t.Errorf("the clocks tied again are %d ns off", off)
		}
	}
}
