package procfs

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// memoryFiles are the file names of one cgroup version: the memory limit, the memory usage and, in memory.stat, the
// cached pages that the kernel reclaims first.
type memoryFiles struct{ limit, usage, cache string }

// memoryVersions maps the cgroup version to its file names.
var memoryVersions = map[int]memoryFiles{
	1: {limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_inactive_file"},
	2: {limit: "memory.max", usage: "memory.current", cache: "inactive_file"},
}

// memoryLimit returns the memory limit in bytes, and whether there is one. Version 1 writes a number near 2^63 for
// no limit.
func (c Cgroup) memoryLimit() (int64, bool) {
	bytes, limited := c.Count(memoryVersions[c.version].limit)
	return bytes, limited && bytes < 1<<60
}

// memoryLeft returns how many bytes the cgroup still allows. memoryLeft returns false if there is no limit or the
// files cannot be read.
func (c Cgroup) memoryLeft() (int64, bool) {
	files := memoryVersions[c.version]
	limit, limited := c.memoryLimit()
	usage, used := c.Count(files.usage)
	if !limited || !used {
		return 0, false
	}
	usage -= min(usage, c.Value("memory.stat", files.cache))
	return max(0, limit-usage), true
}

// MemoryLimit returns how many bytes of memory the cgroups of this process allow: the lowest of their limits, or 0
// if there is none.
func MemoryLimit(root fs.FS) int64 {
	least := int64(0)
	for _, c := range limiting(root, "memory") {
		if bytes, limited := c.memoryLimit(); limited && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	return least
}

// MemoryLeft returns how many bytes of memory this process may still use: the minimum over the machine and all of
// its cgroups. MemoryLeft also names the limit that applies, for example "memory.max of cgroup /x". Other processes
// may use the same memory a moment later.
func MemoryLeft(root fs.FS) (bytes int64, limit string, err error) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, "", err
	}
	if bytes, err = meminfo(string(text), "MemAvailable"); err != nil {
		return 0, "", err
	}
	limit = "MemAvailable of /proc/meminfo"
	for _, c := range limiting(root, "memory") {
		if left, ok := c.memoryLeft(); ok && left < bytes {
			bytes, limit = left, fmt.Sprintf("%s of cgroup %s", memoryVersions[c.version].limit, c.Name)
		}
	}
	return bytes, limit, nil
}

// CPULimit returns how many CPUs the cgroups of this process allow: the lowest of their quotas, or 0 if there is
// none.
func CPULimit(root fs.FS) float64 {
	least := 0.0
	for _, c := range limiting(root, "cpu") {
		quota := c.Text("cpu.max")
		if c.version == 1 {
			quota = c.Text("cpu.cfs_quota_us") + " " + c.Text("cpu.cfs_period_us")
		}
		if cpus := parseQuota(quota); cpus > 0 && (least == 0 || cpus < least) {
			least = cpus
		}
	}
	return least
}

// parseQuota returns how many CPUs "QUOTA PERIOD" allows; 0 means no limit.
func parseQuota(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseUint(fields[0], 10, 62) // "max" and -1 mean no limit
	period, err2 := strconv.ParseUint(fields[1], 10, 62)
	if err1 != nil || err2 != nil || period == 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// CPUThrottled returns how long a CPU quota kept processes of this process's cgroups from running, summed over all
// cores. CPUThrottled returns the time of the cgroup that was throttled longest, since that cgroup's creation.
func CPUThrottled(root fs.FS) (longest time.Duration) {
	for _, c := range limiting(root, "cpu") {
		name, unit := "throttled_usec", time.Microsecond
		if c.version == 1 {
			name, unit = "throttled_time", time.Nanosecond
		}
		longest = max(longest, Counter(c.Value("cpu.stat", name), unit))
	}
	return longest
}

// Counter returns n units of time, or 0 if the value is implausibly large.
func Counter(n int64, unit time.Duration) time.Duration {
	if n < 0 || n > int64(1<<62/unit) {
		return 0
	}
	return time.Duration(n) * unit
}

// ThreadsLeft returns how many threads this process may still start by the limits of its cgroups. ThreadsLeft also
// names the limit that applies, for example "/sys/fs/cgroup/a/pids.max is 60". Without a limit, it returns
// math.MaxInt and "".
func ThreadsLeft(root fs.FS) (left int, limit string) {
	left = math.MaxInt
	for _, c := range limiting(root, "pids") {
		most, limited := c.Count("pids.max")
		now, used := c.Count("pids.current")
		if room := int(max(0, most-now)); limited && used && room < left {
			left, limit = room, fmt.Sprintf("/%s is %d", path.Join(c.Folder, "pids.max"), most)
		}
	}
	return left, limit
}
