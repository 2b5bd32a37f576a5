package procfs

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Cgroup is a cgroup that limits this process: its own cgroup or an ancestor.
type Cgroup struct {
	// Name is the kernel's name for the cgroup as seen by this process: "/", "/a/b".
	Name string
	// Folder holds the cgroup's files, without the leading slash.
	Folder  string
	root    fs.FS
	version int
}

// Text returns the content of a file of the cgroup, or "" if it cannot be read.
func (c Cgroup) Text(file string) string { return Text(c.root, path.Join(c.Folder, file)) }

// Count returns the number in a file of the cgroup. Count returns false for any other content, such as the word
// "max", which means no limit.
func (c Cgroup) Count(file string) (int64, bool) { return count(c.Text(file)) }

// Value returns the count in the line "name count" of a file of the cgroup, such as cpu.stat. Value returns 0 if
// there is no such line.
func (c Cgroup) Value(file, name string) int64 {
	for line := range strings.Lines(c.Text(file)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, _ := count(value)
			return n
		}
	}
	return 0
}

// Cgroups returns the cgroups of this process that a controller such as "memory" can limit. For each mount of a
// hierarchy with the controller, it lists the process's own cgroup and then its ancestors up to the root of the
// mount. Cgroups always includes the unified hierarchy of version 2, even without the controller. Some of the
// cgroups may not exist.
//
// The mounts decide which folder belongs to a cgroup. Cgroups ignores a mount that shows only other cgroups.
func Cgroups(root fs.FS, controller string) (chains [][]Cgroup) {
	paths := memberships(Text(root, "proc/self/cgroup"), controller)
	for _, m := range cgroupMounts(Text(root, "proc/self/mountinfo"), controller) {
		name, member := paths[m.version]
		if chain := m.chain(root, name); member && len(chain) > 0 {
			chains = append(chains, chain)
		}
	}
	return chains
}

// limiting returns the cgroups of Cgroups in one list.
func limiting(root fs.FS, controller string) []Cgroup {
	return slices.Concat(Cgroups(root, controller)...)
}

// memberships reads the text of /proc/self/cgroup, with lines of the form "4:cpu,memory:/a/b", and returns
// the path in each version's hierarchy that has the controller. The unified hierarchy (version 2) is number 0
// and has an empty list of controllers.
func memberships(text, controller string) map[int]string {
	paths := make(map[int]string)
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			paths[2] = fields[2]
		case slices.Contains(strings.Split(fields[1], ","), controller):
			paths[1] = fields[2]
		}
	}
	return paths
}

// cgroupMount is a mount of a cgroup hierarchy. The folder point shows the cgroup root and its descendants.
type cgroupMount struct {
	version     int
	root, point string
}

// cgroupMounts reads the text of /proc/self/mountinfo, see proc_pid_mountinfo(5):
//
//	36 35 98:0 /root /mount/point rw,noatime shared:1 - type source options
func cgroupMounts(text, controller string) []cgroupMount {
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
			m.version = 2
		case what[0] == "cgroup" && slices.Contains(strings.Split(what[2], ","), controller):
			m.version = 1
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// chain lists the cgroup of the given name and its ancestors up to the root of the mount, the innermost first.
// Names are relative to the root of the process's cgroup namespace. Names of cgroups outside begin with "/..".
func (m cgroupMount) chain(root fs.FS, name string) []Cgroup {
	prefix := strings.TrimSuffix(m.root, "/")
	rest, below := strings.CutPrefix(strings.TrimSuffix(name, "/"), prefix)
	below = below && (rest == "" || rest[0] == '/') && !strings.Contains(rest+"/", "/../")
	if !below {
		if prefix == "" || strings.ReplaceAll(prefix, "/..", "") != "" {
			return nil
		}
		rest = "" // the mount begins above the namespace, so the names between are unknown
	}
	var all []Cgroup
	for {
		c := Cgroup{Name: cmp.Or(prefix+rest, "/"), Folder: strings.Trim(m.point+rest, "/"), root: root,
			version: m.version}
		if all = append(all, c); rest == "" {
			return all
		}
		rest = rest[:strings.LastIndexByte(rest, '/')]
	}
}

// unescape undoes the kernel's escaping of spaces, tabs, newlines and backslashes in mountinfo: \040 is a space.
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
