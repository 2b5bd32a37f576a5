// Package limit checks the system's limits for a run and sets the memory limits of plugins.
package limit

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/procfs"
)

// These constants are the needs of a run, measured with the default run of 4 plugins. If Go's runtime cannot start a
// thread, it dies and prints pages of stack traces. Check therefore refuses a run that does not fit before it starts.
const (
	threadsOfCore       = 16 // additional threads of the core during a run, and of its supervisor
	threadsOfPlugin     = 9
	descriptorsOfCore   = 24
	descriptorsOfPlugin = 5 // pipes, calls, the connection to the supervisor, a log
)

// source holds the limits, and the file system from which usage is read.
type source struct {
	root        fs.FS
	uid         int
	processes   uint64 // RLIMIT_NPROC, which limits all threads of the user
	descriptors uint64 // value of RLIMIT_NOFILE
}

// Check returns an error if a run with this many plugin processes would exceed the limits of threads or file
// descriptors.
func Check(plugins int) error {
	m := source{root: procfs.Here(), uid: os.Getuid(), processes: limitOf(unix.RLIMIT_NPROC),
		descriptors: limitOf(unix.RLIMIT_NOFILE)}
	return m.requireRoom(plugins)
}

func limitOf(resource int) uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(resource, &l) != nil {
		return math.MaxUint64
	}
	return l.Cur
}

func (m source) requireRoom(plugins int) error {
	if need := uint64(descriptorsOfCore + descriptorsOfPlugin*plugins); need > m.descriptors { // #nosec G115 -- a count
		return fmt.Errorf("a run of %d plugin processes needs about %d descriptors, but the limit is %d (ulimit -n)",
			plugins, need, m.descriptors)
	}
	need := threadsOfCore + threadsOfPlugin*plugins
	left, limit := m.threads()
	if need > left {
		return fmt.Errorf("a run of %d plugin processes needs about %d threads, but %d are left (%s)", plugins, need,
			left, limit)
	}
	return nil
}

// threads returns how many more threads can be started, and the name of the limit that determines this.
func (m source) threads() (left int, limit string) {
	left = math.MaxInt
	if m.processes < math.MaxInt && !m.exempt() {
		left, limit = max(0, int(m.processes)-m.threadsOfUser()),
			fmt.Sprintf("ulimit -u is %d for all of the user's processes", m.processes)
	}
	if room, tighter := procfs.ThreadsLeft(m.root); room < left {
		return room, tighter
	}
	return left, limit
}

// exempt reports whether RLIMIT_NPROC does not apply to this user. The kernel exempts the machine's root and users with
// the capability to exceed limits there. The root of a container is not exempt.
func (m source) exempt() bool {
	ids := procfs.Text(m.root, "proc/self/uid_map")
	if !slices.Equal(strings.Fields(ids), []string{"0", "0", "4294967295"}) {
		return false
	}
	const may = 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_SYS_ADMIN
	capabilities, _ := strconv.ParseUint(procfs.Field(m.status("self"), "CapEff"), 16, 64)
	return m.uid == 0 || capabilities&may != 0
}

// threadsOfUser counts the threads of all visible processes of this user.
func (m source) threadsOfUser() int {
	processes, _ := fs.Glob(m.root, "proc/[0-9]*")
	total := 0
	for _, p := range processes {
		status := m.status(path.Base(p))
		if real, _, _ := strings.Cut(procfs.Field(status, "Uid"), "\t"); real == strconv.Itoa(m.uid) {
			n, _ := strconv.Atoi(procfs.Field(status, "Threads"))
			total += n
		}
	}
	return total
}

// status returns the content of a process's status file, or "" if the process has ended.
func (m source) status(process string) string {
	return procfs.Text(m.root, path.Join("proc", process, "status"))
}
