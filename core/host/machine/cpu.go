package machine

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/procfs"
)

// Cache is a data cache.
type Cache struct {
	Level int `json:"level"`
	KiB   int `json:"kib"`
	// CPUs lists the CPUs that share the cache, in the kernel's format.
	CPUs string `json:"cpus,omitempty"`
}

// String formats a cache, as in "L1d 48 KiB".
func (c Cache) String() string {
	name := fmt.Sprintf("L%d", c.Level)
	if c.Level == 1 {
		name += "d"
	}
	return fmt.Sprintf("%s %d KiB", name, c.KiB)
}

const cpuFolder = "sys/devices/system/cpu"

// most is the largest possible number of CPUs. A longer list is not valid.
const most = 1 << 16

// allowed returns the list of CPUs on which this process may run, or "" if the kernel does not report it.
func allowed(root fs.FS) string {
	list := procfs.Field(procfs.Text(root, "proc/self/status"), "Cpus_allowed_list")
	if parseCPUs(list) == nil {
		return ""
	}
	return list
}

// parseCPUs parses a list such as 0-3,8. parseCPUs returns nil if the list is not valid.
func parseCPUs(list string) []int {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || last < first || len(cpus)+int(last-first) >= most {
			return nil
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus
}

// governor returns the frequency governors of the CPUs, without duplicates.
func governor(root fs.FS, cpus []int) string {
	var names []string
	for _, cpu := range cpus {
		name := word(procfs.Text(root, fmt.Sprintf("%s/cpu%d/cpufreq/scaling_governor", cpuFolder, cpu)))
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// caches returns the data caches of the first CPU.
func caches(root fs.FS, cpus []int) []Cache {
	if len(cpus) == 0 {
		return nil
	}
	folders, _ := fs.Glob(root, fmt.Sprintf("%s/cpu%d/cache/index[0-9]*", cpuFolder, cpus[0]))
	var all []Cache
	for _, folder := range folders {
		file := func(name string) string { return word(procfs.Text(root, path.Join(folder, name))) }
		level, err := strconv.ParseUint(file("level"), 10, 4)
		kib, ok := parseKiB(file("size"))
		if err != nil || !ok || file("type") == "Instruction" {
			continue
		}
		all = append(all, Cache{Level: int(level), KiB: kib, CPUs: file("shared_cpu_list")})
	}
	slices.SortStableFunc(all, func(a, b Cache) int { return a.Level - b.Level })
	return all
}

// parseKiB parses a cache size such as 48K or 32M.
func parseKiB(size string) (int, bool) {
	digits, factor := strings.TrimSuffix(size, "K"), 1
	if mib, ok := strings.CutSuffix(size, "M"); ok {
		digits, factor = mib, 1024
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n) * factor, err == nil && n > 0 // #nosec G115 -- 31 bits
}
