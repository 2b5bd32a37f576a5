package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/host"
)

// stat is what /proc/PID/stat says of a process.
type stat struct {
	pid, parent, group int
	state              string        // R: it computes or waits for a core
	exiting            bool          // it was killed or ended itself, and only tidies up
	cpu                time.Duration // that it has used
}

// exitingFlag is the kernel's PF_EXITING.
const exitingFlag = 0x4

// clockTick is the unit of CPU times in /proc, on every platform of Linux that Go has.
const clockTick = 10 * time.Millisecond

// statOf reads a process's stat; ok is false once it is gone.
func statOf(pid int) (s stat, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return s, false
	}
	// The name before it may hold anything.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 13 {
		return s, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	s = stat{pid: pid, state: f[0], parent: number(1), group: number(2), cpu: time.Duration(number(11)+number(12)) * clockTick}
	s.exiting = number(6)&exitingFlag != 0 || s.state == "Z" || s.state == "X"
	return s, true
}

// active says whether a process or another of its group computes or waits for a core,
// and how much CPU time that group has used.
func active(leader int) (cpu time.Duration, running bool) {
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok && s.group == leader {
			cpu, running = cpu+s.cpu, running || s.state == "R"
		}
	}
	return cpu, running
}

// pids are all processes.
func pids() []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// killDescendants kills everything below this process, whatever groups, sessions and
// environments it has made for itself.
func killDescendants() {
	all := map[int]stat{}
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
			pid = all[pid].parent
		}
		return false
	}
	for pid, s := range all {
		if pid == self || !below(pid) {
			continue
		}
		// A group dies at a stroke, also where it forks faster than it can be
		// listed. One that a process below has joined may be anybody's.
		if s.group != self && below(s.group) {
			_ = unix.Kill(-s.group, unix.SIGKILL)
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
