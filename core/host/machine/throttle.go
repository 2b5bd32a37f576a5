package machine

import (
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/psbench/psbench/internal/procfs"
)

// Throttled is how long this machine was slowed down, counted since the start of the machine or the cgroup. A time
// that the kernel does not report is 0.
type Throttled struct {
	// Quota is how long a CPU limit stopped processes of psbench's cgroups, summed over all cores, for the cgroup
	// that stopped longest.
	Quota time.Duration
	// Heat is how long the core that overheated longest, or its package, was too hot.
	Heat time.Duration
}

// ReadThrottled returns the current times.
func ReadThrottled() Throttled { return throttled(procfs.Here()) }

func throttled(root fs.FS) Throttled {
	t := Throttled{Quota: procfs.CPUThrottled(root)}
	entries, _ := fs.ReadDir(root, cpuFolder) // without it Heat stays 0
	for _, cpu := range entries {
		for _, name := range []string{"core_throttle_total_time_ms", "package_throttle_total_time_ms"} {
			file := procfs.Text(root, path.Join(cpuFolder, cpu.Name(), "thermal_throttle", name))
			n, _ := strconv.ParseInt(word(file), 10, 64) // some cores do not report it
			t.Heat = max(t.Heat, procfs.Counter(n, time.Millisecond))
		}
	}
	return t
}
