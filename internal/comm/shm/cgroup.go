package shm

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// cgroupFiles are the names under which a version of cgroups keeps a limit, what
// is used of it, and, in memory.stat, the cached pages that it gives up first.
type cgroupFiles struct{ limit, usage, cache string }

var (
	cgroup1 = cgroupFiles{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_inactive_file"}
	cgroup2 = cgroupFiles{limit: "memory.max", usage: "memory.current", cache: "inactive_file"}
)

// cgroup is a memory cgroup that limits this process.
type cgroup struct {
	files cgroupFiles
	name  string // as the kernel shows it to this process: "/", "/a/b"
	dir   string // its folder, without the leading slash
}

// cgroupMount is a mount of a hierarchy of memory cgroups: point shows root and
// what is below.
type cgroupMount struct {
	files       cgroupFiles
	root, point string
}

// memoryCgroups lists the memory cgroups that this process is in, with their
// ancestors, in all hierarchies that are mounted. Some may not exist.
func memoryCgroups(root fs.FS) []cgroup { return slices.Concat(memoryChains(root)...) }

// memoryChains are the memory cgroups that this process is in, each followed by its ancestors.
func memoryChains(root fs.FS) [][]cgroup {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil // a kernel without cgroups
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	paths := memberships(string(own))
	var all [][]cgroup
	for _, m := range cgroupMounts(string(mounts)) {
		if name, found := paths[m.files]; found {
			all = append(all, m.chain(name))
		}
	}
	return all
}

// OwnMemoryCgroups are the folders of the memory cgroups that this process is in, without their
// ancestors: one in each hierarchy that limits memory and is mounted.
func OwnMemoryCgroups() []string {
	var folders []string
	for _, chain := range memoryChains(os.DirFS("/")) {
		if len(chain) > 0 {
			folders = append(folders, "/"+chain[0].dir)
		}
	}
	return folders
}

// memberships reads the text of /proc/self/cgroup, with lines of the form
// "4:cpu,memory:/a/b": the path in each hierarchy that can limit memory. The
// unified hierarchy (version 2) is number 0 and has an empty list of controllers.
func memberships(text string) map[cgroupFiles]string {
	paths := make(map[cgroupFiles]string)
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			paths[cgroup2] = fields[2]
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			paths[cgroup1] = fields[2]
		}
	}
	return paths
}

// cgroupMounts reads the text of /proc/self/mountinfo, see proc_pid_mountinfo(5):
//
//	36 35 98:0 /root /mount/point rw,noatime shared:1 - type source options
func cgroupMounts(text string) []cgroupMount {
	var mounts []cgroupMount
	for line := range strings.Lines(text) {
		front, back, found := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		where, what := strings.Split(front, " "), strings.Split(back, " ")
		if !found || len(where) < 6 || len(what) < 3 {
			continue
		}
		m := cgroupMount{root: unescape(where[3]), point: unescape(where[4])}
		if !strings.HasPrefix(m.root, "/") || !strings.HasPrefix(m.point, "/") {
			continue
		}
		switch {
		case what[0] == "cgroup2":
			m.files = cgroup2
		case what[0] == "cgroup" && slices.Contains(strings.Split(what[2], ","), "memory"):
			m.files = cgroup1
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// chain lists the cgroup of the given name and its ancestors, as far up as the
// mount shows them, the innermost first. Names begin at the root of the process's
// cgroup namespace; what lies outside has names that begin with "/..".
func (m cgroupMount) chain(name string) []cgroup {
	root := strings.TrimSuffix(m.root, "/")
	rest, below := strings.CutPrefix(strings.TrimSuffix(name, "/"), root)
	below = below && (rest == "" || rest[0] == '/') && !strings.Contains(rest+"/", "/../")
	if !below {
		if root == "" || strings.ReplaceAll(root, "/..", "") != "" {
			return nil
		}
		rest = "" // the mount begins above the namespace, and the names between are unknown
	}
	var all []cgroup
	for {
		all = append(all, cgroup{files: m.files, name: cmp.Or(root+rest, "/"), dir: strings.Trim(m.point+rest, "/")})
		if rest == "" {
			return all
		}
		rest = rest[:strings.LastIndexByte(rest, '/')]
	}
}

// left is how many bytes the cgroup leaves. It is false without a limit, or where
// the files cannot be read.
func (c cgroup) left(root fs.FS) (int64, bool) {
	limit, limited := readCount(root, path.Join(c.dir, c.files.limit))
	usage, used := readCount(root, path.Join(c.dir, c.files.usage))
	if !limited || !used {
		return 0, false
	}
	stat, err := fs.ReadFile(root, path.Join(c.dir, "memory.stat"))
	if err == nil {
		usage -= min(usage, statValue(string(stat), c.files.cache))
	}
	return max(0, limit-usage), true
}

// readCount reads a file that holds one count. It is false for anything else,
// such as the word "max", which means no limit.
func readCount(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	return count(strings.TrimSpace(string(text)))
}

// statValue is the count in the line of memory.stat that begins with key, or 0.
func statValue(stat, key string) int64 {
	for line := range strings.Lines(stat) {
		if value, found := strings.CutPrefix(line, key+" "); found {
			n, _ := count(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}

func count(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}

// unescape undoes what the kernel does to spaces, tabs, newlines and backslashes
// in mountinfo: \040 is a space.
func unescape(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); at++ {
		if text[at] == '\\' && at+4 <= len(text) {
			if c, err := strconv.ParseUint(text[at+1:at+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				at += 3
				continue
			}
		}
		out.WriteByte(text[at])
	}
	return out.String()
}
