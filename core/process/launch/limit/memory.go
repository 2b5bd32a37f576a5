package limit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/procfs"
)

// Memory limits a plugin's memory: by a cgroup that it joins or, if there is none, by RLIMIT_DATA. RLIMIT_DATA
// counts private mappings, used or not, which are about 150 MB in a Go program. It does not count shared memory or
// the memory of children.
type Memory struct {
	Bytes int64
	Group string // folder of the cgroup; "": RLIMIT_DATA
}

// Arguments returns the arguments of Become that precede the program.
func (m Memory) Arguments() []string {
	return []string{strconv.FormatInt(m.Bytes, 10), m.Group}
}

// Become limits the memory of this process, as Arguments says, and then becomes the program whose path and
// arguments follow. It returns only on failure.
func Become(args []string) error {
	bytes, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	group, path := args[1], args[2]
	environ := os.Environ()
	if group == "" || join(group) != nil {
		_ = os.Remove(group) // #nosec G703 -- a cgroup of the run, which so says that it bounds nothing
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
			return fmt.Errorf("its memory cannot be limited: %w", err)
		}
	}
	return syscall.Exec(path, args[3:], environ) // #nosec G204 G702 -- the plugin
}

// join makes this process join a cgroup.
func join(group string) error {
	return writeGroup(group, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

// Group is a cgroup that limits the memory of one plugin and its children.
type Group struct {
	folder string
	files  groupFiles
}

// groupFiles are the names of the files that limit memory in a version of cgroups.
type groupFiles struct {
	limit   string
	swap    string // limits memory and swap together, or swap alone
	swapped bool   // swap alone
	events  string // has a line with the number of killed processes
}

var groupVersions = []groupFiles{
	{limit: "memory.max", swap: "memory.swap.max", swapped: true, events: "memory.events"},
	{limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", events: "memory.oom_control"},
}

// MakeGroup makes a named cgroup below this process's cgroup. It returns nil if that is not allowed or cannot limit
// memory. In version 2, a cgroup with processes cannot limit memory below it, except the root cgroup.
func MakeGroup(name string, bytes int64) *Group { return makeGroup(ownGroups(), name, bytes) }

func makeGroup(parents []string, name string, bytes int64) *Group {
	for _, parent := range parents {
		g := &Group{folder: filepath.Join(parent, name)}
		if os.Mkdir(g.folder, 0o755) != nil { // #nosec G301 -- as all cgroups are
			continue
		}
		if g.boundMemory(bytes) {
			return g
		}
		g.Remove()
	}
	return nil
}

// ownGroups returns the folders of this process's memory cgroups. A mount may show only a cgroup above it; a cgroup
// made there would escape the user's limits, so such a mount is skipped.
func ownGroups() (folders []string) {
	for _, chain := range procfs.Cgroups(procfs.Here(), "memory") {
		if own := chain[0]; slices.Contains(strings.Fields(own.Text("cgroup.procs")), strconv.Itoa(os.Getpid())) {
			folders = append(folders, "/"+own.Folder)
		}
	}
	return folders
}

// boundMemory reports whether the cgroup, of either version, now limits memory.
func (g *Group) boundMemory(bytes int64) bool {
	for _, g.files = range groupVersions {
		if g.bound(bytes) == nil {
			return true
		}
	}
	return false
}

// bound sets the limit. Some systems have no limit for swap.
func (g *Group) bound(bytes int64) error {
	limit := strconv.FormatInt(bytes, 10)
	if err := writeGroup(g.folder, g.files.limit, limit); err != nil {
		return err
	}
	if g.files.swapped {
		limit = "0"
	}
	_ = writeGroup(g.folder, g.files.swap, limit)
	return nil
}

// Path returns the folder, or "" for a nil Group.
func (g *Group) Path() string {
	if g == nil {
		return ""
	}
	return g.folder
}

// Exceeded reports whether a process was killed for exceeding the limit. known is false if there is no cgroup or no
// process joined it.
func (g *Group) Exceeded() (exceeded, known bool) {
	if g == nil {
		return false, false
	}
	text, err := os.ReadFile(filepath.Join(g.folder, g.files.events)) // #nosec G304 -- of the kernel
	for line := range strings.Lines(string(text)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(count) != "0", true
		}
	}
	return false, err == nil
}

// Remove removes the cgroup after all its processes have gone, which the kernel may notice with a delay.
func (g *Group) Remove() {
	for range 100 {
		if err := os.Remove(g.folder); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// GroupsOf returns the cgroups with names of the form RUN.*.
func GroupsOf(run string) (groups []*Group) {
	for _, parent := range ownGroups() {
		folders, _ := filepath.Glob(filepath.Join(parent, run+".*"))
		for _, folder := range folders {
			groups = append(groups, &Group{folder: folder})
		}
	}
	return groups
}

func writeGroup(folder, name, text string) error {
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0) // #nosec G304 G703 -- of the kernel
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}
