package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/procfs"
)

// statOf reads a process's stat; ok is false once it is gone.
func statOf(pid int) (procfs.Stat, bool) { return procfs.ReadStat(procfs.Here(), pid) }

// pids returns all processes, none where they cannot be listed.
func pids() []int {
	all, _ := procfs.PIDs(procfs.Here())
	return all
}

// active says whether a process or another of its group computes or waits for a core,
// and how much CPU time that group has used.
func active(leader int) (cpu time.Duration, running bool) {
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok && s.Group == leader {
			cpu, running = cpu+s.CPU, running || s.State == "R"
		}
	}
	return cpu, running
}

// killDescendants kills everything below this process, whatever groups, sessions and
// environments it has made for itself.
func killDescendants() {
	all := map[int]procfs.Stat{}
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok {
			all[pid] = s
		}
	}
	self := os.Getpid()
	below := func(pid int) bool {
		for range all { // a chain that is read while it changes might be a ring
			if pid == self {
				return true
			}
			pid = all[pid].Parent
		}
		return false
	}
	for pid, s := range all {
		if pid == self || !below(pid) {
			continue
		}
		// A group dies at a stroke, also where it forks faster than it can be
		// listed. One that a process below has joined may be anybody's.
		if s.Group != self && below(s.Group) {
			_ = unix.Kill(-s.Group, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// killHolders kills the processes of a run that has neither core nor supervisor, by
// the folder in their environment.
func killHolders(directory string) {
	mark := []byte("\x00" + host.DirectoryVariable + "=" + directory + "\x00")
	for _, pid := range pids() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, env...), mark) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
