package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// bounds are the tightest of the cgroups of this process, nil without any.
func bounds(root fs.FS) *Limits {
	var l Limits
	for _, folder := range Cgroups(root, "cpu", "memory") {
		file := func(name string) string { return text(root, path.Join(folder, name)) }
		for _, cpus := range []float64{
			parseQuota(file("cpu.max")),
			parseQuota(word(file("cpu.cfs_quota_us")) + " " + word(file("cpu.cfs_period_us"))),
		} {
			if cpus > 0 && (l.CPUs == 0 || cpus < l.CPUs) {
				l.CPUs = cpus
			}
		}
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if bytes := parseBytes(file(name)); bytes > 0 && (l.MemoryBytes == 0 || bytes < l.MemoryBytes) {
				l.MemoryBytes = bytes
			}
		}
	}
	if l == (Limits{}) {
		return nil
	}
	return &l
}

// Cgroups are the folders, where cgroups are usually mounted, of those that this process is in and of
// all above them, the innermost first: of version 2, and of these controllers of version 1. Some do not
// exist: a container sees its own as the outermost, by whatever name it goes outside.
func Cgroups(root fs.FS, controllers ...string) []string {
	var folders []string
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		var mounts []string
		if fields[0] == "0" && fields[1] == "" {
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		}
		for _, controller := range strings.Split(fields[1], ",") {
			if slices.Contains(controllers, controller) {
				mounts = append(mounts, "sys/fs/cgroup/"+controller)
			}
		}
		for _, mount := range mounts {
			for name := path.Clean("/" + fields[2]); ; name = path.Dir(name) {
				folders = append(folders, path.Join(mount, name))
				if name == "/" {
					break
				}
			}
		}
	}
	return folders
}

// parseQuota reads how many CPUs "QUOTA PERIOD" are; 0 is no limit.
func parseQuota(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseUint(fields[0], 10, 62) // "max" and -1 are none
	period, err2 := strconv.ParseUint(fields[1], 10, 62)
	if err1 != nil || err2 != nil || period == 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// parseBytes reads a limit of memory; 0 is none, which version 1 writes as a number near 2^63.
func parseBytes(text string) int64 {
	n, err := strconv.ParseInt(word(text), 10, 64)
	if err != nil || n < 0 || n >= 1<<60 {
		return 0
	}
	return n
}
