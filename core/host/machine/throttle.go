package machine

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
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
func ReadThrottled() Throttled { return throttled(os.DirFS("/")) }

func throttled(root fs.FS) (t Throttled) {
	for _, folder := range Cgroups(root, "cpu") {
		stat := text(root, path.Join(folder, "cpu.stat"))
		t.Quota = max(t.Quota, counter(field(stat, "throttled_usec"), time.Microsecond), counter(field(stat, "throttled_time"), time.Nanosecond))
	}
	const cpus = "sys/devices/system/cpu"
	entries, _ := fs.ReadDir(root, cpus) // without it nothing is told
	for _, cpu := range entries {
		for _, name := range []string{"core_throttle_total_time_ms", "package_throttle_total_time_ms"} {
			t.Heat = max(t.Heat, counter(word(text(root, path.Join(cpus, cpu.Name(), "thermal_throttle", name))), time.Millisecond))
		}
	}
	return t
}

// field is what stands beside a name in a line of its own, "" if there is none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			return fields[1]
		}
	}
	return ""
}

// counter is so many units of time, 0 if that is no number or none that a machine reaches.
func counter(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(1<<62/unit) {
		return 0
	}
	return time.Duration(n) * unit
}
