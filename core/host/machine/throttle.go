package machine

import (
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/psbench/psbench/internal/procfs"
)

// Throttled says for how long this machine was slowed down since it started, or since the cgroup was created. A time
// that the kernel does not report is 0.
type Throttled struct {
	// Quota is how long a CPU limit stopped processes, summed over all cores. Quota is the value of the cgroup of
	// psbench with the longest time.
	Quota time.Duration
	// Heat is how long a core or its package was too hot. Heat is the value of the core with the longest time.
	Heat time.Duration
}

// ReadThrottled returns the current values.
func ReadThrottled() Throttled { return throttled(procfs.Here()) }

func throttled(root fs.FS) Throttled {
	t := Throttled{Quota: procfs.CPUThrottled(root)}
	entries, _ := fs.ReadDir(root, cpuFolder) // if this fails, Heat stays 0
	for _, cpu := range entries {
		for _, name := range []string{"core_throttle_total_time_ms", "package_throttle_total_time_ms"} {
			file := procfs.Text(root, path.Join(cpuFolder, cpu.Name(), "thermal_throttle", name))
			n, _ := strconv.ParseInt(word(file), 10, 64) // some cores do not report this
			t.Heat = max(t.Heat, procfs.Counter(n, time.Millisecond))
		}
	}
	return t
}
