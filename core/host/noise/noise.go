// Package noise measures how much of the machine's CPU time other work took during a run.
package noise

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/internal/procfs"
)

// These are the intervals of a run, in order. A run without a warm-up pass has no interval for it.
const (
	Before   = "before" // from the start of the run to its first pass or row
	WarmUp   = "warm-up"
	Measured = "measured"
	After    = "after" // while the core collects the recorded data
)

// Interval says how the CPU time of the core's host was used during one part of a run. Values that the system does not
// report are absent.
type Interval struct {
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration_ns"`
	// Load is the one-minute load average at the end of the interval.
	Load    *float64 `json:"load,omitempty"`
	Machine *Machine `json:"machine,omitempty"`
	// Quota is how long a CPU limit stopped processes of psbench's cgroups, summed over all cores. Heat is how long the
	// core that overheated longest was too hot.
	Quota time.Duration `json:"throttled_quota_ns,omitempty"`
	Heat  time.Duration `json:"throttled_heat_ns,omitempty"`
	// Processes lists the run's processes on the core's host. The core comes first.
	Processes []Usage `json:"processes"`
}

// Machine is the CPU time of all cores of a host in an interval. The time that remains after Others, Steal and Idle was
// used by the run's processes.
type Machine struct {
	Cores int `json:"cores"`
	// Others is the CPU time of all processes that do not belong to the run. Others includes the kernel's own time.
	Others time.Duration `json:"others_ns"`
	// Uncertainty is the possible error of Others, because the system counts in ticks of 10 ms.
	Uncertainty time.Duration `json:"uncertainty_ns"`
	// Steal is the time during which a core had work but the hypervisor ran another guest.
	Steal time.Duration `json:"steal_ns"`
	Idle  time.Duration `json:"idle_ns"`
}

// Usage is the CPU time and the context switches of a process of the run in an interval. Usage includes the process's
// own children.
type Usage struct {
	Name string        `json:"name"` // such as trainer0, data, core or supervisor
	PID  int           `json:"pid"`
	CPU  time.Duration `json:"cpu_ns"`
	// VoluntarySwitches and InvoluntarySwitches count context switches of the threads that exist at the end of the
	// interval. A switch is voluntary if the thread waits, and involuntary if another thread takes its core.
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`
}

// Share returns cpu as a share of the CPU time of all cores in the interval.
func (i *Interval) Share(cpu time.Duration) float64 {
	if i.Machine == nil || i.Duration <= 0 {
		return 0
	}
	return cpu.Seconds() / (i.Duration.Seconds() * float64(i.Machine.Cores))
}

// Compute derives the CPU time of others from the wall-clock time of all cores.
//
// Linux measures the idle time of a core in ns. Linux counts busy time by sampling at every procfs.Tick. Sampling is
// too coarse for a short pass of half a second.
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

// Find returns the interval with a name, or nil.
func Find(intervals []Interval, name string) *Interval {
	i := slices.IndexFunc(intervals, func(i Interval) bool { return i.Name == name })
	if i < 0 {
		return nil
	}
	return &intervals[i]
}

// loud is the share of the machine's CPU time above which psbench warns.
const loud = 0.05

// Loud reports whether others took more than the threshold, even after the uncertainty is subtracted.
func (i *Interval) Loud(took, uncertainty time.Duration) bool {
	return i.Share(took-uncertainty) > loud
}

// Warnings returns one sentence for each cause that took CPU time or slowed the machine during the measured interval,
// if it exceeds a threshold. during names this interval in the sentences, as in "the measured pass".
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
	throttle("a core was", i.Heat, "measure again on a cooler machine")
	return warnings
}
