package noise

import (
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/procfs"
)

// Meter divides a run into intervals. It reads the system at the borders of an interval, which takes a few ms, and
// does nothing in between. Calls must not overlap.
type Meter struct {
	source    source
	processes func() []Process
	name      string // of the interval that runs, or ""
	last      *sample
	intervals []Interval
}

// NewMeter returns a Meter for a run. processes lists the run's processes on the core's host, the core first; more
// of them may appear during an interval.
func NewMeter(processes func() []Process) *Meter {
	return &Meter{source: source{root: procfs.Here(), clock: clockOf, now: time.Now, throttled: machine.ReadThrottled},
		processes: processes}
}

// Begin ends the current interval, if any, and begins another.
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

// of returns the usage of a process; zero if the sample has no such process.
func (s *sample) of(pid int) used {
	for _, p := range s.processes {
		if p.PID == pid {
			return p
		}
	}
	return used{}
}

// since returns the difference of two readings of a process.
func (p *used) since(earlier used) Usage {
	// The kernel forgets the usage of a child when it dies and its parent does not wait for it.
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

// until returns the difference of two readings of the machine; coarse is how many times of the run's processes in
// between are in ticks. It is nil if the machine's times do not advance with the clock, as in a sandbox where they
// stand still.
func (t *machineTimes) until(later *machineTimes, duration time.Duration, coarse int) *Machine {
	m := &Machine{Cores: later.cores, Steal: sinceTicks(t.steal, later.steal), Idle: sinceTicks(t.idle, later.idle)}
	// The kernel rounds the columns idle, iowait and steal to ticks, once for all cores. A kernel without exact
	// idle times is off by about one tick per core.
	m.Uncertainty = time.Duration(max(3, m.Cores)+coarse) * procfs.Tick
	all := duration * time.Duration(m.Cores)
	if told := sinceTicks(t.total, later.total); t.cores != later.cores || told+m.Uncertainty < all/2 {
		return nil
	}
	return m
}

// sinceTicks returns the time between two readings of a counter, which may run backwards.
func sinceTicks(earlier, later int64) time.Duration {
	const most = 1 << 36 // 21 years
	return time.Duration(min(max(0, later-earlier), most)) * procfs.Tick
}
