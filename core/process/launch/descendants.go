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

// statOf reads /proc/PID/stat. ok is false if the process has ended.
func statOf(pid int) (procfs.Stat, bool) { return procfs.ReadStat(procfs.Here(), pid) }

// pids lists all processes. The list is empty if /proc cannot be read.
func pids() []int {
	all, _ := procfs.PIDs(procfs.Here())
	return all
}

// active returns the CPU time that a process group has used, and whether one of its processes is running or waits for a
// CPU.
func active(leader int) (cpu time.Duration, running bool) {
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok && s.Group == leader {
			cpu, running = cpu+s.CPU, running || s.State == "R"
		}
	}
	return cpu, running
}

// killDescendants kills all descendants of this process, even if they have changed their process group, session or
// environment.
func killDescendants() {
	all := map[int]procfs.Stat{}
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok {
			all[pid] = s
		}
	}
	self := os.Getpid()
	below := func(pid int) bool {
		for range all { // bounds the loop: parents that change while they are read may look like a cycle
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
		// Killing a group is atomic, so it works even if the group forks faster than it can be listed. But if a
		// descendant has joined another group, that group may contain processes of other programs.
		if s.Group != self && below(s.Group) {
			_ = unix.Kill(-s.Group, unix.SIGKILL)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// killHolders kills the processes of a run whose core and supervisor are dead. killHolders recognises these processes
// by the path of the run's folder in their environment.
func killHolders(directory string) {
	mark := []byte("\x00" + host.DirectoryVariable + "=" + directory + "\x00")
	for _, pid := range pids() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && pid != os.Getpid() && bytes.Contains(append([]byte{0}, env...), mark) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
