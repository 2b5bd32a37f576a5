package noise

import (
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/procfs"
)

// Meter divides a run into intervals. Meter reads the system's counters at the start and end of each interval, which
// takes a few ms. Meter does nothing during an interval. The methods of Meter must not be called concurrently.
type Meter struct {
	source    source
	processes func() []Process
	name      string // name of the current interval; "" if there is none
	last      *sample
	intervals []Interval
}

// NewMeter returns a Meter for a run. processes lists the run's processes on the core's host, with the core first. The
// list may grow during an interval.
func NewMeter(processes func() []Process) *Meter {
	return &Meter{source: source{root: procfs.Here(), clock: clockOf, now: time.Now, throttled: machine.ReadThrottled},
		processes: processes}
}

// Begin ends the current interval, if any, and starts another.
func (m *Meter) Begin(name string) {
	next := m.source.sample(m.processes())
	if m.name != "" {
		m.intervals = append(m.intervals, between(m.name, m.last, next))
	}
	m.name, m.last = name, next
}

// End ends the current interval.
func (m *Meter) End() { m.Begin("") }

// Intervals returns the intervals that have ended.
func (m *Meter) Intervals() []Interval { return m.intervals }

// between returns the interval between two samples.
func between(name string, a, b *sample) Interval {
	i := Interval{Name: name, Duration: b.at.Sub(a.at), Load: b.load, Processes: []Usage{}}
	i.Quota, i.Heat = max(0, b.throttled.Quota-a.throttled.Quota), max(0, b.throttled.Heat-a.throttled.Heat)
	coarse := 0
	for _, p := range b.processes {
		coarse += p.coarse
		i.Processes = append(i.Processes, p.since(a.of(p.PID)))
	}
	lost := slices.ContainsFunc(a.processes, func(p used) bool { return b.of(p.PID).PID == 0 })
	if a.machine != nil && b.machine != nil && !lost { // a process that ended would count among the others
		i.Machine = a.machine.until(b.machine, i.Duration, coarse)
		i.Compute()
	}
	return i
}

// of returns the usage of a process, or zero if the sample does not contain the process.
func (s *sample) of(pid int) used {
	for _, p := range s.processes {
		if p.PID == pid {
			return p
		}
	}
	return used{}
}

// since returns the difference between two readings of a process.
func (p *used) since(earlier used) Usage {
	// The difference may be negative: if a child dies and its parent does not wait for it, the kernel forgets the
	// child's usage.
	u := Usage{Name: p.Name, PID: p.PID, CPU: max(0, p.cpu-earlier.cpu)}
	if p.blind || earlier.blind {
		return u
	}
	var s switches
	for thread, now := range p.threads {
		before := earlier.threads[thread]
		s.voluntary += max(0, now.voluntary-before.voluntary)
		s.involuntary += max(0, now.involuntary-before.involuntary)
	}
	u.VoluntarySwitches, u.InvoluntarySwitches = &s.voluntary, &s.involuntary
	return u
}

// until returns the difference between two readings of the machine. coarse is the number of readings of the run's
// processes, in both samples, that are in ticks. until returns nil if the counters do not advance with the clock. In
// some sandboxes the counters do not advance at all.
func (t *machineTimes) until(later *machineTimes, duration time.Duration, coarse int) *Machine {
	m := &Machine{Cores: later.cores, Steal: sinceTicks(t.steal, later.steal), Idle: sinceTicks(t.idle, later.idle)}
	// The kernel rounds each of the columns idle, iowait and steal to ticks, over all cores. A kernel that does not
	// measure idle time exactly has an error of about one tick per core.
	m.Uncertainty = time.Duration(max(3, m.Cores)+coarse) * procfs.Tick
	all := duration * time.Duration(m.Cores)
	if told := sinceTicks(t.total, later.total); t.cores != later.cores || told+m.Uncertainty < all/2 {
		return nil
	}
	return m
}

// sinceTicks returns the time between two readings of a counter. The counter may run backwards.
func sinceTicks(earlier, later int64) time.Duration {
	const most = 1 << 36 // 21 years
	return time.Duration(min(max(0, later-earlier), most)) * procfs.Tick
}
