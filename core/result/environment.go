package result

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Capture describes this machine and this build. What the system does not tell
// is "unknown", or 0 if it is a number.
func Capture() Environment {
	return Environment{
		Psbench:   Version(),
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Kernel:    kernel(),
		CPU:       orUnknown(procField("/proc/cpuinfo", "model name")),
		Cores:     runtime.NumCPU(),
		MemoryMiB: memoryMiB(procField("/proc/meminfo", "MemTotal")),
	}
}

// Version is the version of this psbench as the Go tool stamped it, e.g.
// "v0.2.0", or "devel" for a build without version control.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return orUnknown(unix.ByteSliceToString(name.Release[:]))
}

func procField(path, name string) string {
	f, err := os.Open(path) // #nosec G304 -- one of two constant paths
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	return field(f, name)
}

// field finds the first "name: value" line of r.
func field(r io.Reader, name string) string {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// memoryMiB reads a value such as "16384000 kB".
func memoryMiB(value string) int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib / 1024
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
