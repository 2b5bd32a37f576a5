package procfs

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	mountV1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountV2     = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountHybrid = mountV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	memory      = "MemTotal:       24684084 kB\nMemAvailable:    1048576 kB\nBuffers: 896 kB\n"
)

func TestMemoryLeft(t *testing.T) {
	const mib = 1 << 20
	v1, v2 := "sys/fs/cgroup/memory", "sys/fs/cgroup"
	cases := map[string]struct {
		own, mounts string
		files       map[string]string
		bytes       int64
		limit       string
	}{
		"no cgroups": {bytes: 1024 * mib, limit: "MemAvailable of /proc/meminfo"},
		"version 2": {
			own: "0::/a/b\n", mounts: mountV2,
			files: map[string]string{v2 + "/a/b/memory.max": "104857600\n", v2 + "/a/b/memory.current": "52428800\n",
				v2 + "/a/b/memory.stat": "anon 3\ninactive_file 10485760\nactive_file 7\n"},
			bytes: 60 * mib, limit: "memory.max of cgroup /a/b",
		},
		"version 2, the ancestor has less": {
			own: "0::/a/b\n", mounts: mountV2,
			files: map[string]string{v2 + "/a/b/memory.max": "max\n", v2 + "/a/b/memory.current": "5\n",
				v2 + "/a/memory.max": "104857600\n", v2 + "/a/memory.current": "0\n"},
			bytes: 100 * mib, limit: "memory.max of cgroup /a",
		},
		"version 2, the host has less": {
			own: "0::/a\n", mounts: mountV2,
			files: map[string]string{v2 + "/a/memory.max": "4294967296\n", v2 + "/a/memory.current": "0\n"},
			bytes: 1024 * mib, limit: "MemAvailable of /proc/meminfo",
		},
		"version 2, more used than allowed": {
			own: "0::/a\n", mounts: mountV2,
			files: map[string]string{v2 + "/a/memory.max": "4096\n", v2 + "/a/memory.current": "8192\n",
				v2 + "/a/memory.stat": "inactive_file 100\n"},
			bytes: 0, limit: "memory.max of cgroup /a",
		},
		"version 2, usage unreadable": {
			own: "0::/a\n", mounts: mountV2,
			files: map[string]string{v2 + "/a/memory.max": "4096\n"},
			bytes: 1024 * mib, limit: "MemAvailable of /proc/meminfo",
		},
		"version 1": {
			own: "4:memory:/a/b\n3:cpuset:/\n0::/\n", mounts: mountV1,
			files: map[string]string{
				v1 + "/a/b/memory.limit_in_bytes": "104857600\n", v1 + "/a/b/memory.usage_in_bytes": "52428800\n",
				v1 + "/a/b/memory.stat":       "inactive_file 5\ntotal_inactive_file 1048576\n",
				v1 + "/memory.limit_in_bytes": "9223372036854771712\n", v1 + "/memory.usage_in_bytes": "5\n",
			},
			bytes: 51 * mib, limit: "memory.limit_in_bytes of cgroup /a/b",
		},
		"version 1, several controllers in one hierarchy": {
			own: "4:cpu,memory:/a\n", mounts: "35 31 0:32 / /cg rw - cgroup cgroup rw,cpu,memory\n",
			files: map[string]string{"cg/a/memory.limit_in_bytes": "4096", "cg/a/memory.usage_in_bytes": "96"},
			bytes: 4000, limit: "memory.limit_in_bytes of cgroup /a",
		},
		"hybrid, version 1 has the memory": {
			own: "4:memory:/a\n0::/system.slice\n", mounts: mountHybrid,
			files: map[string]string{v1 + "/a/memory.limit_in_bytes": "4096\n", v1 + "/a/memory.usage_in_bytes": "0\n",
				v2 + "/unified/system.slice/cgroup.procs": "1\n"},
			bytes: 4096, limit: "memory.limit_in_bytes of cgroup /a",
		},
		"hybrid, version 2 has the memory": {
			own: "4:cpu:/a\n0::/system.slice\n", mounts: mountHybrid,
			files: map[string]string{v2 + "/unified/system.slice/memory.max": "4096\n",
				v2 + "/unified/system.slice/memory.current": "0\n"},
			bytes: 4096, limit: "memory.max of cgroup /system.slice",
		},
		"a container's cgroup mounted at the root": {
			own: "0::/docker/c1/sub\n", mounts: "29 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			files: map[string]string{
				v2 + "/sub/memory.max": "max", v2 + "/sub/memory.current": "0",
				v2 + "/memory.max": "4096", v2 + "/memory.current": "0",
			},
			bytes: 4096, limit: "memory.max of cgroup /docker/c1",
		},
		"the mount shows another cgroup": {
			own: "0::/docker/c10\n", mounts: "29 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			files: map[string]string{v2 + "/memory.max": "4096", v2 + "/memory.current": "0"},
			bytes: 1024 * mib, limit: "MemAvailable of /proc/meminfo",
		},
		"a namespace of its own": {
			own: "0::/\n", mounts: mountV2,
			files: map[string]string{v2 + "/memory.max": "4096", v2 + "/memory.current": "0"},
			bytes: 4096, limit: "memory.max of cgroup /",
		},
		"a namespace within the mount": {
			own: "0::/\n", mounts: "29 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			files: map[string]string{v2 + "/memory.max": "4096", v2 + "/memory.current": "0"},
			bytes: 4096, limit: "memory.max of cgroup /../..",
		},
		"moved out of its namespace": {
			own: "0::/../other\n", mounts: mountV2,
			files: map[string]string{v2 + "/memory.max": "4096", v2 + "/memory.current": "0",
				"sys/fs/other/memory.max": "1", "sys/fs/other/memory.current": "0"},
			bytes: 1024 * mib, limit: "MemAvailable of /proc/meminfo",
		},
		"names with spaces and colons": {
			own: "0::/a b:c\n", mounts: "29 23 0:26 / /my\\040cg rw - cgroup2 cgroup2 rw\n",
			files: map[string]string{"my cg/a b:c/memory.max": "4096", "my cg/a b:c/memory.current": "0"},
			bytes: 4096, limit: "memory.max of cgroup /a b:c",
		},
		"no optional fields, no source": {
			own: "0::/a\n", mounts: "29 23 0:26 / /cg rw - cgroup2  rw\n",
			files: map[string]string{"cg/a/memory.max": "4096", "cg/a/memory.current": "0"},
			bytes: 4096, limit: "memory.max of cgroup /a",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(c.files)
			if files == nil {
				files = map[string]string{}
			}
			files["proc/meminfo"] = memory
			files["proc/self/cgroup"], files["proc/self/mountinfo"] = c.own, c.mounts
			bytes, limit, err := MemoryLeft(tree(files))
			if err != nil {
				t.Fatal(err)
			}
			if bytes != c.bytes || limit != c.limit {
				t.Errorf("%d bytes are left (%s), want %d (%s)", bytes, limit, c.bytes, c.limit)
			}
		})
	}
}

// tree returns a file system with the given contents.
func tree(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestMemoryLeftFails(t *testing.T) {
	for text, want := range map[string]string{
		"MemTotal: 5 kB\n":                      "no line MemAvailable",
		"MemAvailable:  lots kB\n":              `"lots kB"`,
		"MemAvailable: -1 kB\n":                 `"-1 kB"`,
		"MemAvailable: 9007199254740993000 kB":  "not a number of kB",
		"MemAvailable: 99999999999999999999 kB": "not a number of kB",
	} {
		t.Run(text, func(t *testing.T) {
			_, _, err := MemoryLeft(tree(map[string]string{"proc/meminfo": text}))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		})
	}
	_, _, err := MemoryLeft(tree(nil))
	if err == nil || !strings.Contains(err.Error(), "proc/meminfo") {
		t.Errorf("without any file: %v", err)
	}
}

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]float64{
		"150000 100000\n": 1.5, "max 100000": 0, "-1 100000": 0, "100000": 0, "100000 0": 0, "": 0, "a b": 0,
	} {
		t.Run(text, func(t *testing.T) {
			if got := parseQuota(text); got != want {
				t.Errorf("a quota of %q is %v, want %v", text, got, want)
			}
		})
	}
	for text, want := range map[string]int64{
		"4096\n": 4096, "max\n": 0, "9223372036854771712": 0, "-1": 0, "": 0, "x": 0, "99999999999999999999": 0,
	} {
		t.Run(text, func(t *testing.T) {
			c := Cgroup{Folder: "cg", root: tree(map[string]string{"cg/memory.limit_in_bytes": text}), version: 1}
			if got, limited := c.memoryLimit(); limited != (want > 0) || limited && got != want {
				t.Errorf("a limit of %q is %d (%v), want %d", text, got, limited, want)
			}
		})
	}
}

func TestMemTotal(t *testing.T) {
	for text, want := range map[string]int64{
		memory: 24684084 << 10, "MemTotal:        8192 kB\nMemFree: 1 kB\n": 8 << 20, "MemTotal:\n": 0,
		"MemTotal: many kB\n": 0, "": 0,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if got := MemTotal(tree(map[string]string{"proc/meminfo": text})); got != want {
				t.Errorf("%q has %d bytes, want %d", text, got, want)
			}
		})
	}
}

func FuzzMeminfo(f *testing.F) {
	f.Add(memory)
	f.Add("MemAvailable: 9007199254740991 kB")
	f.Fuzz(func(t *testing.T, text string) {
		if bytes, err := meminfo(text, "MemAvailable"); bytes < 0 || err != nil && bytes != 0 {
			t.Errorf("%q has %d bytes (%v)", text, bytes, err)
		}
	})
}

// For any file contents, psbench reads only folders within a mount, from the process's cgroup upwards.
func FuzzCgroups(f *testing.F) {
	f.Add("4:memory:/a/b\n0::/\n", mountHybrid)
	f.Add("0::/../other\n", mountV2)
	f.Add("0::/\n", "29 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	f.Add("0::/docker/c1/sub\n", "29 23 0:26 /docker/c1 /my\\040cg ro - cgroup2 cgroup rw\n")
	f.Fuzz(func(t *testing.T, own, mountinfo string) {
		paths := memberships(own, "memory")
		for _, m := range cgroupMounts(mountinfo, "memory") {
			chain := m.chain(tree(nil), paths[m.version])
			for i, c := range chain {
				point := strings.Trim(m.point, "/")
				below, within := strings.CutPrefix(c.Folder, point)
				if !within || strings.Contains(below+"/", "/../") {
					t.Errorf("folder %q is not within %q", c.Folder, m.point)
				}
				if i > 0 && len(c.Name) > len(chain[i-1].Name) {
					t.Errorf("cgroup %q comes after %q", c.Name, chain[i-1].Name)
				}
			}
		}
		_, _, err := MemoryLeft(tree(map[string]string{"proc/meminfo": memory, "proc/self/cgroup": own,
			"proc/self/mountinfo": mountinfo}))
		if err != nil {
			t.Error(err)
		}
	})
}

func FuzzMemoryFiles(f *testing.F) {
	f.Add("104857600\n", "52428800\n", "anon 3\ninactive_file 10485760\n")
	f.Add("max\n", "5\n", "")
	f.Add("9223372036854775807", "0", "inactive_file 9223372036854775807")
	f.Fuzz(func(t *testing.T, limit, usage, stat string) {
		files := map[string]string{"cg/memory.max": limit, "cg/memory.current": usage, "cg/memory.stat": stat}
		c := Cgroup{Name: "/", Folder: "cg", root: tree(files), version: 2}
		left, ok := c.memoryLeft()
		if most, limited := count(limit); left < 0 || ok && (!limited || left > most) {
			t.Errorf("of the limit %q, %d bytes are left (%v)", limit, left, ok)
		}
	})
}
