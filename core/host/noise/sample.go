package noise

import (
	"io/fs"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/procfs"
)

// Process is one of the run on the core's host.
type Process struct {
	Name string
	PID  int
	// Alone says that what it started does not count as its own.
	Alone bool
}

// sample is what the system said at one moment.
type sample struct {
	at        time.Time
	machine   *machineTimes // nil if it did not say
	load      *float64      // the same
	throttled machine.Throttled
	processes []used // those that there were
}

// used is what a process, and what it started itself, has used so far.
type used struct {
	Process
	cpu     time.Duration
	coarse  int // how many of the times in cpu are in ticks
	threads map[int]switches
	blind   bool // not all switches could be read
}

// source is where samples come from.
type source struct {
	root fs.FS // of the machine
	// clock is the CPU time of a process, ended threads included.
	clock func(pid int) (time.Duration, bool)
	now   func() time.Time
	// throttled is what the kernel counts of it.
	throttled func() machine.Throttled
}

// sample reads how things stand. No file needs to be there.
func (s *source) sample(processes []Process) *sample {
	out := &sample{at: s.now(), throttled: s.throttled()}
	if t, ok := parseMachine(procfs.Text(s.root, "proc/stat")); ok {
		out.machine = &t
	}
	if load, ok := procfs.Load(s.root); ok {
		out.load = &load
	}
	w := &walk{source: s, owners: map[int]*used{}, seen: map[int]bool{}}
	all := make([]used, len(processes))
	for i, p := range processes {
		all[i] = used{Process: p, threads: map[int]switches{}}
		w.owners[p.PID] = &all[i]
		w.seen[p.PID] = true
	}
	alive := make([]bool, len(all))
	for i := range all {
		alive[i] = w.count(all[i].PID, &all[i])
	}
	for i, p := range all { // once they have all that was found elsewhere
		if alive[i] {
			out.processes = append(out.processes, p)
		}
	}
	return out
}

// walk goes down the trees of the run's processes.
type walk struct {
	*source
	owners map[int]*used // by process and by process group, which have the same number
	seen   map[int]bool
}

// count adds to owner what a process used, and what those that it started used; those of
// the run count for themselves. It is false if the process is gone.
//
// An orphan is a child of the supervisor, whoever started it: its group tells.
func (w *walk) count(pid int, owner *used) bool {
	stat, ok := procfs.ReadStat(w.root, pid)
	if !ok {
		return false
	}
	if of := w.owners[stat.Group]; of != nil && owner.PID != pid {
		owner = of
	}
	if cpu, ok := w.clock(pid); ok {
		owner.cpu += cpu
	} else {
		owner.cpu += stat.CPU
		owner.coarse++
	}
	if stat.ChildrenCPU > 0 && !owner.Alone {
		owner.cpu += stat.ChildrenCPU
		owner.coarse++
	}
	folder := path.Join("proc", strconv.Itoa(pid), "task")
	threads, _ := fs.ReadDir(w.root, folder) // without any nothing is known of switches
	owner.blind = owner.blind || len(threads) == 0
	for _, thread := range threads {
		w.thread(path.Join(folder, thread.Name()), owner)
	}
	return true
}

// thread counts a thread's switches, and the processes that it started.
func (w *walk) thread(folder string, owner *used) {
	id, err := strconv.Atoi(path.Base(folder))
	status := procfs.Text(w.root, path.Join(folder, "status"))
	if s, ok := parseSwitches(status); ok && err == nil {
		owner.threads[id] = s
	} else if status != "" { // else it has ended
		owner.blind = true
	}
	if owner.Alone {
		return
	}
	for _, child := range procfs.ThreadChildren(w.root, folder) {
		if !w.seen[child] {
			w.seen[child] = true
			w.count(child, owner)
		}
	}
}

// clockOf reads the CPU clock of a process: clock_getcpuclockid(3) says how it is named.
func clockOf(pid int) (time.Duration, bool) {
	const sched = 2 // the kernel's CPUCLOCK_SCHED: ns, threads that ended included
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil { // #nosec G115 -- a process number
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
