package procfs

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of CPU times in /proc, on every Linux platform that Go supports.
const Tick = 10 * time.Millisecond

// Stat holds values from /proc/PID/stat.
type Stat struct {
	PID, Parent, Group int
	State              string        // R: running or waiting for a core; Z: ended, but its parent has not waited for it
	Exiting            bool          // the process was killed or has ended, and at most still cleans up
	CPU                time.Duration // CPU time in Ticks, ended threads included
	ChildrenCPU        time.Duration // CPU time of children that ended and were waited for
}

// The columns of /proc/PID/stat after the name.
const (
	columnState       = 0
	columnParent      = 1
	columnGroup       = 2
	columnFlags       = 6
	columnCPU         = 11 // user, then system
	columnChildrenCPU = 13 // user, then system
	columns           = 15 // number of columns to read
)

// flagExiting is the kernel's PF_EXITING.
const flagExiting = 0x4

// ReadStat reads the stat of a process; ok is false once the process is gone.
func ReadStat(root fs.FS, pid int) (s Stat, ok bool) {
	s, ok = parseStat(Text(root, path.Join("proc", strconv.Itoa(pid), "stat")))
	s.PID = pid
	return s, ok
}

// parseStat reads the columns after the name. The name may contain any characters, including brackets and spaces.
func parseStat(text string) (s Stat, ok bool) {
	name := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[name+1:])
	if name < 0 || len(fields) < columns {
		return s, false
	}
	s.State = fields[columnState]
	for column, to := range map[int]*int{columnParent: &s.Parent, columnGroup: &s.Group} {
		n, err := strconv.ParseInt(fields[column], 10, 32)
		if err != nil {
			return s, false
		}
		*to = int(n)
	}
	flags, err := strconv.ParseUint(fields[columnFlags], 10, 64)
	if err != nil {
		return s, false
	}
	s.Exiting = flags&flagExiting != 0 || s.State == "Z" || s.State == "X"
	s.CPU, ok = ticks(fields[columnCPU : columnCPU+2])
	if ok {
		s.ChildrenCPU, ok = ticks(fields[columnChildrenCPU : columnChildrenCPU+2])
	}
	return s, ok
}

// ticks returns the sum of CPU times.
func ticks(fields []string) (sum time.Duration, ok bool) {
	for _, field := range fields {
		n, err := strconv.ParseUint(field, 10, 36) // 36 bits are 21 years
		if err != nil {
			return 0, false
		}
		sum += time.Duration(n) * Tick // #nosec G115 -- 36 bits
	}
	return sum, true
}

// PIDs returns the numbers of all visible processes.
func PIDs(root fs.FS) ([]int, error) {
	entries, err := fs.ReadDir(root, "proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// Children returns the children of a process, "self" or a number. The children are in the order of the threads that
// started them. The result is empty if the kernel does not list children.
func Children(root fs.FS, process string) (pids []int) {
	threads, _ := fs.ReadDir(root, path.Join("proc", process, "task")) // the process may have ended
	for _, thread := range threads {
		pids = append(pids, ThreadChildren(root, path.Join("proc", process, "task", thread.Name()))...)
	}
	return pids
}

// ThreadChildren returns the children that a thread started. The thread's folder is proc/PID/task/TID.
func ThreadChildren(root fs.FS, folder string) []int {
	return parsePIDs(Text(root, path.Join(folder, "children")))
}

// parsePIDs reads process numbers separated by spaces, and stops at anything else.
func parsePIDs(text string) []int {
	var pids []int
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseInt(field, 10, 32)
		if err != nil || n <= 0 {
			break
		}
		pids = append(pids, int(n))
	}
	return pids
}
