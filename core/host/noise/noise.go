// Package noise measures what else took the machine's CPU time while a run measured.
package noise

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/procfs"
)

// The intervals of a run, in order. A run without a warm-up pass has none of that.
const (
	Before   = "before" // from the start of the run until a pass or a row begins
	WarmUp   = "warm-up"
	Measured = "measured"
	After    = "after" // while the core collects what was recorded
)

// Interval is what took the CPU time of the core's host in one part of a run. What the
// system does not tell is absent.
type Interval struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration_ns"`
	// Load is the load average over a minute at the end of the interval.
	Load    *float64 `json:"load,omitempty"`
	Machine *Machine `json:"machine,omitempty"`
	// Quota is for how long a limit of CPU time kept processes of psbench's cgroups from running, on
	// all cores together; Heat is for how long the core that was slowed down most was too hot.
	Quota time.Duration `json:"throttled_quota_ns,omitempty"`
	Heat  time.Duration `json:"throttled_heat_ns,omitempty"`
	// Processes are those of the run that the core's host has, the core first.
	Processes []Usage `json:"processes"`
}

// Machine is the CPU time of all cores of a host in an interval. What is neither others',
// stolen nor idle is that of the run's processes.
type Machine struct {
	Cores int `json:"cores"`
	// Others is of what is no process of the run, the kernel's own included.
	Others time.Duration `json:"others_ns"`
	// Uncertainty is how far off Others may be, since the system counts in ticks of 10 ms.
	Uncertainty time.Duration `json:"uncertainty_ns"`
	// Steal is when a core had work but the hypervisor gave it to another guest.
	Steal time.Duration `json:"steal_ns"`
	Idle  time.Duration `json:"idle_ns"`
}

// Usage is what a process of the run, and what it started itself, used in an interval.
type Usage struct {
	Name string        `json:"name"` // trainer0, data, core, supervisor
	PID  int           `json:"pid"`
	CPU  time.Duration `json:"cpu_ns"`
	// Switches of threads that there still are at the end of the interval: voluntary where
	// a thread waits, involuntary where another one takes its core.
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`
}

// Share is how much of the CPU time of all cores in the interval some of it is.
func (i *Interval) Share(cpu time.Duration) float64 {
	if i.Machine == nil || i.Duration <= 0 {
		return 0
	}
	return cpu.Seconds() / (i.Duration.Seconds() * float64(i.Machine.Cores))
}

// Compute makes what others took of what is left of the wall-clock time of all cores.
//
// Linux has the idle time of a core to the ns, while it counts busy time by who happens to run at a
// procfs.Tick, which is of little worth over the half second of a short pass.
func (i *Interval) Compute() {
	m := i.Machine
	if m == nil {
		return
	}
	m.Others = i.Duration*time.Duration(m.Cores) - m.Idle - m.Steal
	for _, p := range i.Processes {
		m.Others -= p.CPU
	}
	m.Others = max(0, m.Others)
}

// Find is the interval of a name, or nil.
func Find(intervals []Interval, name string) *Interval {
	i := slices.IndexFunc(intervals, func(i Interval) bool { return i.Name == name })
	if i < 0 {
		return nil
	}
	return &intervals[i]
}

// loud is the share of the machine's CPU time from which on what others take is told.
const loud = 0.05

// Loud says whether what others took is surely more than can be overlooked.
func (i *Interval) Loud(took, uncertainty time.Duration) bool {
	return i.Share(took-uncertainty) > loud
}

// Warnings says in words who else took CPU time while the run measured, during what is
// called so, and what kept the machine from its full speed, if that is more than can be overlooked.
func Warnings(intervals []Interval, during string) []string {
	i := Find(intervals, Measured)
	if i == nil {
		return nil
	}
	var warnings []string
	warn := func(who string, took, uncertainty time.Duration) {
		if i.Loud(took, uncertainty) {
			warnings = append(warnings,
				fmt.Sprintf("%s took %.0f %% of the machine's CPU time during %s (%.2f of %.2f s): measure again on a quiet machine",
					who, 100*i.Share(took), during, took.Seconds(), i.Duration.Seconds()*float64(i.Machine.Cores)))
		}
	}
	if i.Machine != nil {
		warn("other processes", i.Machine.Others, i.Machine.Uncertainty)
		warn("other guests of the hypervisor (steal)", i.Machine.Steal, procfs.Tick)
	}
	throttle := func(what string, took time.Duration, instead string) {
		if took.Seconds() > loud*i.Duration.Seconds() {
			warnings = append(warnings, fmt.Sprintf("%s throttled for %.2f s during the %.2f s of %s: %s", what,
				took.Seconds(), i.Duration.Seconds(), during, instead))
		}
	}
	throttle("processes were", i.Quota,
		"measure again without the cgroup's limit of CPU time, which is counted on each core")
	throttle("a core was", i.Heat, "measure again where it does not get so hot")
	return warnings
}
