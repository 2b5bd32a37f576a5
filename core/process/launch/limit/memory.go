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

// Memory is the memory limit of a plugin. A cgroup enforces the limit. If no cgroup can be made, RLIMIT_DATA enforces
// it. RLIMIT_DATA counts private mappings, used or not; a Go program has about 150 MB of them. RLIMIT_DATA does not
// count shared memory or the memory of children.
type Memory struct {
	Bytes int64
	Group string // folder of the cgroup; "" for RLIMIT_DATA
}

// Arguments returns the first arguments for Become. The program's path and arguments follow them.
func (m Memory) Arguments() []string {
	return []string{strconv.FormatInt(m.Bytes, 10), m.Group}
}

// Become limits the memory of this process as Arguments says, and then executes the program whose path and arguments
// follow. Become returns only on failure.
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

// join moves this process into a cgroup.
func join(group string) error {
	return writeGroup(group, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

// Group is a cgroup that limits the memory of one plugin and its children.
type Group struct {
	folder string
	files  groupFiles
}

// groupFiles holds the names of the files that limit memory, for one version of cgroups.
type groupFiles struct {
	limit   string
	swap    string // limits swap alone, or memory and swap together
	swapped bool   // whether the file swap limits swap alone
	events  string // file that counts killed processes
}

var groupVersions = []groupFiles{
	{limit: "memory.max", swap: "memory.swap.max", swapped: true, events: "memory.events"},
	{limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", events: "memory.oom_control"},
}

// MakeGroup makes a cgroup with this name below the cgroup of this process. MakeGroup returns nil if this is not
// permitted or the new cgroup cannot limit memory. In version 2, a cgroup with processes cannot limit the memory of
// cgroups below it, unless it is the root cgroup.
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

// ownGroups returns the folders of the memory cgroups to which this process belongs. A mount may show only an ancestor
// of the process's cgroup. A new cgroup there would escape the user's limits, so ownGroups skips such mounts.
func ownGroups() (folders []string) {
	for _, chain := range procfs.Cgroups(procfs.Here(), "memory") {
		if own := chain[0]; slices.Contains(strings.Fields(own.Text("cgroup.procs")), strconv.Itoa(os.Getpid())) {
			folders = append(folders, "/"+own.Folder)
		}
	}
	return folders
}

// boundMemory sets the memory limit with the files of either version, and reports whether it succeeded.
func (g *Group) boundMemory(bytes int64) bool {
	for _, g.files = range groupVersions {
		if g.bound(bytes) == nil {
			return true
		}
	}
	return false
}

// bound sets the limit. bound tolerates a missing swap limit, because some systems do not have one.
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

// Path returns the folder of the cgroup, or "" for a nil Group.
func (g *Group) Path() string {
	if g == nil {
		return ""
	}
	return g.folder
}

// Exceeded reports whether the kernel killed a process of the cgroup for exceeding the limit. known is false if g is
// nil or no process joined the cgroup.
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

// Remove removes the cgroup. All its processes must have ended. Remove retries, because the kernel may notice their
// ends with a delay.
func (g *Group) Remove() {
	for range 100 {
		if err := os.Remove(g.folder); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// GroupsOf returns all cgroups of a run, whose names have the form RUN.*.
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
