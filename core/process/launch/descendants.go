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

// statOf reads the stat of a process; ok is false once it is gone.
func statOf(pid int) (procfs.Stat, bool) { return procfs.ReadStat(procfs.Here(), pid) }

// pids returns all processes, or none if they cannot be listed.
func pids() []int {
	all, _ := procfs.PIDs(procfs.Here())
	return all
}

// active reports whether a process of a group computes or waits for a core, and the CPU time that the group has
// used.
func active(leader int) (cpu time.Duration, running bool) {
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok && s.Group == leader {
			cpu, running = cpu+s.CPU, running || s.State == "R"
		}
	}
	return cpu, running
}

// killDescendants kills everything below this process, including processes in other groups, sessions or
// environments.
func killDescendants() {
	all := map[int]procfs.Stat{}
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok {
			all[pid] = s
		}
	}
	self := os.Getpid()
	below := func(pid int) bool {
		for range all { // a chain that changes while it is read might look like a ring
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
		// Killing a group is atomic, even if it forks faster than it can be listed. A group that a descendant has
		// joined may belong to other processes.
		if s.Group != self && below(s.Group) {
			_ = unix.Kill(-s.Group, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// killHolders kills the processes of a run without core and supervisor, which it recognises by the folder in their
// environment.
func killHolders(directory string) {
	mark := []byte("\x00" + host.DirectoryVariable + "=" + directory + "\x00")
	for _, pid := range pids() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, env...), mark) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
