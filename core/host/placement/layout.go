package placement

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/machine"
)

// Layout is a plan with all that is to say of it: what a run starts by, prints and records.
type Layout struct {
	Policy   Policy   `json:"place"`
	Affinity Affinity `json:"affinity"`
	Hosts    []Host   `json:"hosts"`
	// Processes are in the order in which they were given.
	Processes []Placed `json:"processes"`
	// Notes are a sentence each on what a host cannot have as it was asked for.
	Notes []string `json:"notes,omitempty"`
}

// Placed is a process and where it runs.
type Placed struct {
	Name string `json:"name"`
	Host int    `json:"host"` // index into the hosts
	// Device is the ordinal of the CUDA device that the process computes on, among those that its host shows;
	// nil without one.
	Device *int `json:"device,omitempty"`
	// Node is the NUMA node, and CPUs are those that it may run on; nil where it is not pinned.
	Node *int         `json:"node,omitempty"`
	CPUs machine.CPUs `json:"cpus,omitempty"`
}

// Lay plans where processes run, as Plan and Pins have it. The CUDA ranks of a host go round its devices,
// trainers before servers.
func Lay(hosts []Host, processes []Process, policy Policy, affinity Affinity) (*Layout, error) {
	plan, err := Plan(hosts, processes, policy)
	if err != nil {
		return nil, err
	}
	l := &Layout{Policy: policy, Affinity: affinity, Hosts: hosts}
	hasServers := slices.ContainsFunc(processes, func(p Process) bool { return p.Kind == Server })
	if policy == Packed && len(hosts) == 1 && hasServers { // without servers no policy has an effect
		l.Notes = append(l.Notes, fmt.Sprintf("place %s has no effect: %s is the only host", policy, hosts[0].Name))
	}
	pins := make([]map[string]Pin, len(hosts))
	for h, host := range hosts {
		var note string
		if pins[h], note = Pins(host, here(processes, plan, h), affinity); note != "" {
			l.Notes = append(l.Notes, note)
		}
	}
	devices := make([]int, len(hosts)) // that were given
	for _, p := range processes {
		placed := Placed{Name: p.Name, Host: plan[p.Name]}
		if pin, ok := pins[placed.Host][p.Name]; ok {
			placed.Node, placed.CPUs = &pin.Node, pin.CPUs
		}
		if p.CUDA && p.Beside == "" {
			device := devices[placed.Host] % hosts[placed.Host].GPUs
			devices[placed.Host]++
			placed.Device = &device
		}
		l.Processes = append(l.Processes, placed)
	}
	return l, nil
}

// here are the processes that a plan has on a host.
func here(processes []Process, plan map[string]int, host int) (some []Process) {
	for _, p := range processes {
		if plan[p.Name] == host {
			some = append(some, p)
		}
	}
	return some
}

// Of is where a process runs; false if the layout does not know it, or is nil.
func (l *Layout) Of(name string) (Placed, bool) {
	if l == nil {
		return Placed{}, false
	}
	for _, p := range l.Processes {
		if p.Name == name {
			return p, true
		}
	}
	return Placed{}, false
}

// CPUs are those that a process is pinned to; nil if it is not.
func (l *Layout) CPUs(name string) machine.CPUs {
	p, _ := l.Of(name)
	return p.CPUs
}

// Plain says that all is as it is without a choice: one host, where no process is pinned.
func (l *Layout) Plain() bool { return len(l.Hosts) == 1 && l.Affinity == Anywhere }
