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

// Memory is how a plugin's memory is bounded: by a cgroup that it joins or, where there is
// none, by RLIMIT_DATA. That counts what a process maps for itself, touched or not, of which a
// Go program has some 150 MB; shared memory, and what its children have, it does not count.
type Memory struct {
	Bytes int64
	Group string // folder of the cgroup; "": RLIMIT_DATA
}

// Arguments are those of Become, before the program's.
func (m Memory) Arguments() []string {
	return []string{strconv.FormatInt(m.Bytes, 10), m.Group}
}

// Become bounds the memory of this process, as Arguments say, and then becomes a program: its path
// and its arguments follow. It returns only if that fails.
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

// join has this process join a cgroup.
func join(group string) error {
	return writeGroup(group, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

// Group is a cgroup that bounds the memory of one plugin and of all that it starts.
type Group struct {
	folder string
	files  groupFiles
}

// groupFiles are the names of what a version of cgroups has to bound memory.
type groupFiles struct {
	limit   string
	swap    string // the limit of memory and swap together, or of swap alone
	swapped bool   // the latter
	events  string // has a line that says how many processes were killed
}

var groupVersions = []groupFiles{
	{limit: "memory.max", swap: "memory.swap.max", swapped: true, events: "memory.events"},
	{limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", events: "memory.oom_control"},
}

// MakeGroup makes a cgroup of that name below that of this process, or gives nil where that may
// not be or cannot bound memory. Of version 2 only the root of all has processes and bounds memory
// below it, too: any other that has some hands no memory on.
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

// ownGroups are the folders of the memory cgroups of this process. Where a mount shows only
// one above them, a cgroup that is made there would leave limits that the user has set.
func ownGroups() (folders []string) {
	for _, chain := range procfs.Cgroups(procfs.Here(), "memory") {
		if own := chain[0]; slices.Contains(strings.Fields(own.Text("cgroup.procs")), strconv.Itoa(os.Getpid())) {
			folders = append(folders, "/"+own.Folder)
		}
	}
	return folders
}

// boundMemory says whether the cgroup, of whichever version, bounds memory now.
func (g *Group) boundMemory(bytes int64) bool {
	for _, g.files = range groupVersions {
		if g.bound(bytes) == nil {
			return true
		}
	}
	return false
}

// bound sets the limit. That of swap is not there everywhere.
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

// Path is the folder, or "" of no cgroup.
func (g *Group) Path() string {
	if g == nil {
		return ""
	}
	return g.folder
}

// Exceeded says whether a process was killed for what the cgroup may not hold. It is not known
// where there is none, or none that was joined.
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

// Remove removes the cgroup, once all its processes are gone; the kernel may take a moment to
// notice.
func (g *Group) Remove() {
	for range 100 {
		if err := os.Remove(g.folder); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// GroupsOf are the cgroups that were made with names of the form RUN.*.
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
