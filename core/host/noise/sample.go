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
	// Alone means that the children of the process do not count in its usage.
	Alone bool
}

// sample holds the readings at one moment.
type sample struct {
	at        time.Time
	machine   *machineTimes // nil if unknown
	load      *float64      // nil if unknown
	throttled machine.Throttled
	processes []used // processes that existed at this moment
}

// used is the usage of a process and its own children since they started.
type used struct {
	Process
	cpu     time.Duration
	coarse  int // how many of the times in cpu were in ticks
	threads map[int]switches
	blind   bool // some context switches could not be read
}

// source takes samples.
type source struct {
	root fs.FS // files of the machine
	// clock returns the CPU time of a process, including its threads that have ended.
	clock func(pid int) (time.Duration, bool)
	now   func() time.Time
	// throttled returns for how long the kernel has slowed the machine down.
	throttled func() machine.Throttled
}

// sample takes a sample. Missing files are not an error.
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
	for i, p := range all { // copied only after all counts are complete
		if alive[i] {
			out.processes = append(out.processes, p)
		}
	}
	return out
}

// walk visits the process trees of the run.
type walk struct {
	*source
	owners map[int]*used // keyed by process ID, which is also the ID of the process's group
	seen   map[int]bool
}

// count adds the usage of a process and its children to owner. Children that are processes of the run have their own
// owners. count returns false if the process has ended.
//
// An orphan becomes a child of the supervisor. The process group of an orphan shows to which process the orphan
// belonged.
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
	threads, _ := fs.ReadDir(w.root, folder) // if this fails, the switches are unknown
	owner.blind = owner.blind || len(threads) == 0
	for _, thread := range threads {
		w.thread(path.Join(folder, thread.Name()), owner)
	}
	return true
}

// thread adds the context switches of a thread, and visits the processes that it started.
func (w *walk) thread(folder string, owner *used) {
	id, err := strconv.Atoi(path.Base(folder))
	status := procfs.Text(w.root, path.Join(folder, "status"))
	if s, ok := parseSwitches(status); ok && err == nil {
		owner.threads[id] = s
	} else if status != "" { // if status is empty, the thread has ended
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

// clockOf reads the CPU clock of a process. clock_getcpuclockid(3) defines the clock's number.
func clockOf(pid int) (time.Duration, bool) {
	const sched = 2 // CPUCLOCK_SCHED in the kernel: ns, including threads that have ended
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil { // #nosec G115 -- a process number
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
