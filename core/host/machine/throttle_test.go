package machine

import (
	"testing"
	"testing/fstest"
	"time"
)

// The result is the longest time of all cgroups, of either version, and the longest time of all cores.
func TestThrottled(t *testing.T) {
	const unified = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  Throttled
	}{
		"nothing": {fstest.MapFS{}, Throttled{}},
		"version 2": {fstest.MapFS{
			"proc/self/cgroup":             file("0::/a/b\n"),
			"proc/self/mountinfo":          file(unified),
			"sys/fs/cgroup/a/b/cpu.stat":   file("usage_usec 9000000\nnr_throttled 3\nthrottled_usec 1500000\n"),
			"sys/fs/cgroup/a/cpu.stat":     file("throttled_usec 2500000\n"),
			"sys/fs/cgroup/other/cpu.stat": file("throttled_usec 9500000\n"),
		}, Throttled{Quota: 2500 * time.Millisecond}},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup":           file("4:cpu,cpuacct:/a\n"),
			"proc/self/mountinfo":        file("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"),
			"sys/fs/cgroup/cpu/cpu.stat": file("nr_periods 5\nnr_throttled 3\nthrottled_time 1500000000\n"),
		}, Throttled{Quota: 1500 * time.Millisecond}},
		"heat": {fstest.MapFS{
			"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_total_time_ms":    file("20\n"),
			"sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_total_time_ms":    file("30\n"),
			"sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_total_time_ms": file("10\n"),
		}, Throttled{Heat: 30 * time.Millisecond}},
		"nonsense": {fstest.MapFS{
			"proc/self/cgroup":       file("0::/\n"),
			"proc/self/mountinfo":    file(unified),
			"sys/fs/cgroup/cpu.stat": file("throttled_usec 9223372036854775807\nthrottled_time -3\nthrottled_usec\n"),
		}, Throttled{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := throttled(c.files); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		})
	}
}
