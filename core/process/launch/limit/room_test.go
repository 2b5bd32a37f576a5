package limit

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLimits(t *testing.T) {
	const unified = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	pids := func(root string) string {
		return "39 31 0:36 " + root + " /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	}
	const host, container = "0 0 4294967295\n", "0 100000 65536\n"
	for name, c := range map[string]struct {
		files       map[string]string
		uid         int
		processes   uint64
		descriptors uint64
		plugins     int
		want        string // expected error; empty if the run fits
	}{
		"no limits": {processes: math.MaxUint64, plugins: 128},
		"descriptors": {processes: math.MaxUint64, descriptors: 40, plugins: 4,
			want: "a run of 4 plugin processes needs about 44 descriptors, but the limit is 40 (ulimit -n)"},
		"few processes": {uid: 1000, processes: 100, plugins: 4,
			want: "a run of 4 plugin processes needs about 52 threads, but 49 are left (ulimit -u is 100 for all of the user's processes)"},
		"enough processes": {uid: 1000, processes: 103, plugins: 4},
		"of another user":  {uid: 1001, processes: 53, plugins: 4},
		"root":             {files: map[string]string{"proc/self/uid_map": host}, processes: 10, plugins: 4},
		"root of a container": {files: map[string]string{"proc/self/uid_map": container}, processes: 10, plugins: 4,
			want: "10 are left (ulimit -u"},
		"a user who may": {files: map[string]string{"proc/self/uid_map": host, "proc/self/status": "CapEff:\t0000000001000000\n"}, uid: 1000, processes: 10, plugins: 4},
		"a user who may not": {files: map[string]string{"proc/self/uid_map": host,
			"proc/self/status": "CapEff:\t0000000000000400\n"}, uid: 1000, processes: 10, plugins: 4,
			want: "0 are left (ulimit -u is 10"},
		"cgroup 2": {
			files: map[string]string{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": unified,
				"sys/fs/cgroup/a/b/pids.max": "max\n", "sys/fs/cgroup/a/b/pids.current": "1\n",
				"sys/fs/cgroup/a/pids.max": "60\n", "sys/fs/cgroup/a/pids.current": "9\n"},
			processes: math.MaxUint64, plugins: 4,
			want: "52 threads, but 51 are left (/sys/fs/cgroup/a/pids.max is 60)",
		},
		"cgroup 1": {
			files: map[string]string{"proc/self/cgroup": "8:pids:/x\n4:memory:/y\n",
				"proc/self/mountinfo": pids("/"), "sys/fs/cgroup/pids/x/pids.max": "20\n",
				"sys/fs/cgroup/pids/x/pids.current": "30\n"},
			processes: math.MaxUint64, plugins: 4,
			want: "52 threads, but 0 are left (/sys/fs/cgroup/pids/x/pids.max is 20)",
		},
		"cgroup of a container": {
			files: map[string]string{"proc/self/cgroup": "8:pids:/docker/c1\n",
				"proc/self/mountinfo": pids("/docker/c1"), "sys/fs/cgroup/pids/pids.max": "20\n",
				"sys/fs/cgroup/pids/pids.current": "10\n"},
			processes: math.MaxUint64, plugins: 4,
			want: "52 threads, but 10 are left (/sys/fs/cgroup/pids/pids.max is 20)",
		},
		"cgroup that has room": {
			files: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": unified,
				"sys/fs/cgroup/a/pids.max": "61\n", "sys/fs/cgroup/a/pids.current": "9\n"},
			processes: math.MaxUint64, plugins: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{
				"proc/7/status": {Data: []byte("Name:\tx\nUid:\t1000\t0\t0\t0\nThreads:\t31\n")},
				"proc/8/status": {Data: []byte("Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t20\n")},
				"proc/9/status": {Data: []byte("Name:\tx\nUid:\t10\t1000\t1000\t1000\nThreads:\t1000\n")},
			}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if c.descriptors == 0 {
				c.descriptors = 1 << 20
			}
			err := source{root, c.uid, c.processes, c.descriptors}.requireRoom(c.plugins)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the check says %v, want %q", err, c.want)
			}
		})
	}
}
