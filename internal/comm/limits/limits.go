// Package limits measures upper limits of machines: the rates of memory copies,
// of loopback TCP and of a link between hosts. psbench compares the data plane
// with these limits.
//
// All rates are in GB/s, 10^9 bytes per second.
package limits

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/numeral"
)

// Cores is the number of threads that Copy can run at once, each on its own
// core.
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

// pin binds the calling goroutine to one CPU until the caller runs release. If
// the kernel refuses, the goroutine still keeps an OS thread to itself.
func pin(cpu int) (release func()) {
	runtime.LockOSThread()
	var before, only unix.CPUSet
	only.Set(cpu)
	if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &only) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		// If the thread stays pinned, the Go runtime must not reuse it: the
		// thread ends with its goroutine.
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}
}

// median is the median of values, or 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return numeral.Median(values)
}
