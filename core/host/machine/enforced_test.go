package machine

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/psbench/psbench/internal/procfs"
)

// psbench records the same memory limit that it enforces. If none of the memory is used, the available memory equals
// the recorded limit. Limits of other cgroups are neither recorded nor enforced.
func TestRecordedIsEnforced(t *testing.T) {
	const (
		unified = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		memory1 = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		joined  = "35 31 0:32 / /cg rw - cgroup cgroup rw,cpu,memory\n"
		hybrid  = memory1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct {
		own, mounts string
		limits      map[string]int64 // keyed by the cgroup's folder
		want        int64            // 0 means that only the machine limits memory
	}{
		"version 2": {"0::/a/b\n", unified, map[string]int64{"sys/fs/cgroup/a/b": 1 << 28}, 1 << 28},
		"version 2, the ancestor's": {"0::/a/b\n", unified,
			map[string]int64{"sys/fs/cgroup/a/b": 1 << 28, "sys/fs/cgroup/a": 1 << 27}, 1 << 27},
		"version 1": {"4:memory:/a/b\n", memory1, map[string]int64{"sys/fs/cgroup/memory/a": 1 << 27},
			1 << 27},
		"both, version 1 is tighter": {"4:memory:/a\n0::/b\n", hybrid,
			map[string]int64{"sys/fs/cgroup/memory/a": 1 << 26, "sys/fs/cgroup/unified/b": 1 << 27}, 1 << 26},
		"both, version 2 is tighter": {"4:memory:/a\n0::/b\n", hybrid,
			map[string]int64{"sys/fs/cgroup/memory/a": 1 << 28, "sys/fs/cgroup/unified/b": 1 << 27}, 1 << 27},
		"mounted elsewhere": {"4:cpu,memory:/a\n", joined, map[string]int64{"cg/a": 1 << 27}, 1 << 27},
		"a container's": {
			"0::/docker/c1\n", "29 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			map[string]int64{"sys/fs/cgroup": 1 << 27}, 1 << 27,
		},
		"another container's": {
			"0::/docker/c2\n", "29 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			map[string]int64{"sys/fs/cgroup": 1 << 27}, 0,
		},
		"not mounted": {"4:memory:/a\n", unified,
			map[string]int64{"sys/fs/cgroup/memory/a": 1 << 27}, 0},
		"more than the machine's": {"0::/a\n", unified, map[string]int64{"sys/fs/cgroup/a": 1 << 40}, 1 << 40},
		"none, as version 1 writes it": {"4:memory:/a\n", memory1,
			map[string]int64{"sys/fs/cgroup/memory/a": math.MaxInt64 - 4095}, 0},
		"a name with spaces and colons": {"0::/a b:c\n", unified, map[string]int64{"sys/fs/cgroup/a b:c": 1 << 27},
			1 << 27},
		"moved out of its own namespace": {"0::/../x\n", unified,
			map[string]int64{"sys/fs/cgroup": 1 << 27, "sys/fs/x": 1 << 20}, 0},
		"the namespace is below the root": {"0::/\n", "29 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			map[string]int64{"sys/fs/cgroup": 1 << 27}, 1 << 27},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			write := func(name, text string) { root[name] = &fstest.MapFile{Data: []byte(text)} }
			write("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1048576 kB\n")
			write("proc/self/cgroup", c.own)
			write("proc/self/mountinfo", c.mounts)
			for folder, bytes := range c.limits { // writes files of both versions; only one version counts
				for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
					write(folder+"/"+file, strconv.FormatInt(bytes, 10)+"\n")
				}
				for _, file := range []string{"memory.current", "memory.usage_in_bytes"} {
					write(folder+"/"+file, "0\n")
				}
			}
			var recorded int64
			if l := read(root).Limits; l != nil {
				recorded = l.MemoryBytes
			}
			if recorded != c.want {
				t.Errorf("recorded a limit of %d bytes, want %d", recorded, c.want)
			}
			total := procfs.MemTotal(root)
			if total != 1<<30 {
				t.Errorf("the machine has %d bytes, want 1 GiB whatever the limit", total)
			}
			left, limit, err := procfs.MemoryLeft(root)
			if err != nil {
				t.Fatal(err)
			}
			if recorded > 0 && recorded < total {
				total = recorded
			}
			if left != total || (total == recorded) != strings.Contains(limit, "of cgroup ") {
				t.Errorf("enforces %d bytes (%s), but %d are recorded", left, limit, recorded)
			}
		})
	}
}
