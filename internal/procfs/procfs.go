// Package procfs reads facts about this machine from /proc and the cgroup folders of Linux. The package is the only
// reader of a process's stat, of the machine's memory and of cgroup limits, so psbench records the limits that it
// enforces. Every function takes a file system: Here, or a file system from a test.
package procfs

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
)

// Here returns the file system of this machine. The root of the file system is /.
func Here() fs.FS { return os.DirFS("/") }

// Text returns the content of a file, or "" if it cannot be read.
func Text(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(data)
}

// Field returns the value in the first line "name: value" of a file such as /proc/PID/status, without surrounding
// spaces. Field returns "" if there is no such line.
func Field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// MemTotal returns the bytes of memory that the kernel manages on this machine, regardless of cgroups. MemTotal
// returns 0 if the kernel does not report it.
func MemTotal(root fs.FS) int64 {
	bytes, err := meminfo(Text(root, "proc/meminfo"), "MemTotal")
	if err != nil {
		return 0
	}
	return bytes
}

// meminfo returns a value in the text of /proc/meminfo, in bytes.
func meminfo(text, name string) (int64, error) {
	value := Field(text, name)
	if value == "" {
		return 0, fmt.Errorf("/proc/meminfo has no line %s", name)
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
	if err != nil || kib < 0 || kib > math.MaxInt64>>10 {
		return 0, fmt.Errorf("%s of /proc/meminfo is %q, not a number of kB", name, value)
	}
	return kib << 10, nil
}

// Load returns the machine's load average over a minute; ok is false if the kernel does not report it.
func Load(root fs.FS) (load float64, ok bool) {
	first, _, _ := strings.Cut(Text(root, "proc/loadavg"), " ")
	load, err := strconv.ParseFloat(first, 64)
	const most = 1e9 // above any real load; excludes NaN and infinity
	return load, err == nil && load >= 0 && load < most
}

// count reads a number that is not negative. count returns false for any other content, such as "max" for no limit.
func count(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}
