package machine

import (
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/psbench/psbench/internal/procfs"
)

// Throttled is for how long this machine was kept from working as fast as it can, since it or
// a cgroup was started. What the kernel does not tell is 0.
type Throttled struct {
	// Quota is when a limit of CPU time kept processes of psbench's cgroups from running, on all
	// cores together: that of the cgroup which did so longest.
	Quota time.Duration
	// Heat is when the core that it slowed down most, or its package, was too hot.
	Heat time.Duration
}

// ReadThrottled reads it.
func ReadThrottled() Throttled { return throttled(procfs.Here()) }

func throttled(root fs.FS) Throttled {
	t := Throttled{Quota: procfs.CPUThrottled(root)}
	entries, _ := fs.ReadDir(root, cpuFolder) // without it nothing is told
	for _, cpu := range entries {
		for _, name := range []string{"core_throttle_total_time_ms", "package_throttle_total_time_ms"} {
			file := procfs.Text(root, path.Join(cpuFolder, cpu.Name(), "thermal_throttle", name))
			n, _ := strconv.ParseInt(word(file), 10, 64) // not every core tells
			t.Heat = max(t.Heat, procfs.Counter(n, time.Millisecond))
		}
	}
	return t
}
