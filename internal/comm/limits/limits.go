// Package limits measures what machines can do at best: copy memory, move bytes through
// loopback TCP, and move them over a link between hosts. The data plane is compared with that.
//
// All rates are in GB/s, 10^9 bytes per second.
package limits

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/numeral"
)

// Cores is how many threads Copy can run at once, each on a core of its own.
func Cores() int { return max(1, min(len(allowedCPUs()), runtime.GOMAXPROCS(0))) }

// allowedCPUs are the numbers of the CPUs that this process may run on.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// pin keeps the calling goroutine on one CPU until the returned function is
// called. Where the kernel refuses, the goroutine keeps a thread of its own.
func pin(cpu int) (release func()) {
	runtime.LockOSThread()
	var before, only unix.CPUSet
	only.Set(cpu)
	if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &only) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		// A thread that stays pinned must not go back to the others: it ends
		// with its goroutine.
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}
}

// median is the median of values, 0 without any.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return numeral.Median(values)
}
