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

// Process is a process of the run on the core's host.
type Process struct {
	Name string
	PID  int
	// Alone excludes its children from its usage.
	Alone bool
}

// sample holds the readings of one moment.
type sample struct {
	at        time.Time
	machine   *machineTimes // nil if unknown
	load      *float64      // nil if unknown
	throttled machine.Throttled
	processes []used // those that existed
}

// used is what a process and its own children have used so far.
type used struct {
	Process
	cpu     time.Duration
	coarse  int // number of times in cpu that are in ticks
	threads map[int]switches
	blind   bool // some switches could not be read
}

// source provides the samples.
type source struct {
	root fs.FS // the machine's files
	// clock returns the CPU time of a process, including ended threads.
	clock func(pid int) (time.Duration, bool)
	now   func() time.Time
	// throttled reads the kernel's counts of slow-downs.
	throttled func() machine.Throttled
}

// sample takes a sample. Missing files are no error.
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
	for i, p := range all { // after the other samples are complete
		if alive[i] {
			out.processes = append(out.processes, p)
		}
	}
	return out
}

// walk visits the process trees of the run.
type walk struct {
	*source
	owners map[int]*used // by process; a process group has the number of its process
	seen   map[int]bool
}

// count adds the usage of a process and its children to owner. Children that are processes of the run have owners
// of their own. It returns false if the process is gone.
//
// An orphan becomes a child of the supervisor; its process group says whose it was.
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
	threads, _ := fs.ReadDir(w.root, folder) // without it no switches are known
	owner.blind = owner.blind || len(threads) == 0
	for _, thread := range threads {
		w.thread(path.Join(folder, thread.Name()), owner)
	}
	return true
}

// thread counts the switches of a thread and the processes that it started.
func (w *walk) thread(folder string, owner *used) {
	id, err := strconv.Atoi(path.Base(folder))
	status := procfs.Text(w.root, path.Join(folder, "status"))
	if s, ok := parseSwitches(status); ok && err == nil {
		owner.threads[id] = s
	} else if status != "" { // an empty status: the thread has ended
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

// clockOf reads the CPU clock of a process; clock_getcpuclockid(3) defines its number.
func clockOf(pid int) (time.Duration, bool) {
	const sched = 2 // the kernel's CPUCLOCK_SCHED: ns, including ended threads
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil { // #nosec G115 -- a process number
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
