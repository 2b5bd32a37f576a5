package placement

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/machine"
)

// Layout is a plan with all facts that a run needs to start its processes, print the plan and record it.
type Layout struct {
	Policy   Policy   `json:"place"`
	Affinity Affinity `json:"affinity"`
	Hosts    []Host   `json:"hosts"`
	// Processes are in the order in which they were given.
	Processes []Placed `json:"processes"`
	// Notes contains one sentence for each request that a host cannot satisfy.
	Notes []string `json:"notes,omitempty"`
}

// Placed is a process with the place where it runs.
type Placed struct {
	Name string `json:"name"`
	Host int    `json:"host"` // index into the list of hosts
	// Device is the ordinal of the process's CUDA device among the visible devices of its host. Device is nil if the
	// process has no device.
	Device *int `json:"device,omitempty"`
	// Node is the process's NUMA node, and CPUs are the CPUs on which it may run. Node and CPUs are nil if the process
	// is not pinned.
	Node *int         `json:"node,omitempty"`
	CPUs machine.CPUs `json:"cpus,omitempty"`
}

// Lay plans where processes run, with Plan and Pins. The CUDA ranks of a host take its devices in turn, first trainers
// and then servers.
func Lay(hosts []Host, processes []Process, policy Policy, affinity Affinity) (*Layout, error) {
	plan, err := Plan(hosts, processes, policy)
	if err != nil {
		return nil, err
	}
	l := &Layout{Policy: policy, Affinity: affinity, Hosts: hosts}
	hasServers := slices.ContainsFunc(processes, func(p Process) bool { return p.Kind == Server })
	if policy == Packed && len(hosts) == 1 && hasServers { // without servers the policy has no effect
		l.Notes = append(l.Notes, fmt.Sprintf("place %s has no effect: %s is the only host", policy, hosts[0].Name))
	}
	pins := make([]map[string]Pin, len(hosts))
	for h, host := range hosts {
		var note string
		if pins[h], note = Pins(host, here(processes, plan, h), affinity); note != "" {
			l.Notes = append(l.Notes, note)
		}
	}
	devices := make([]int, len(hosts)) // number of devices that are already assigned, by host
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

// here returns the processes that a plan puts on a host.
func here(processes []Process, plan map[string]int, host int) (some []Process) {
	for _, p := range processes {
		if plan[p.Name] == host {
			some = append(some, p)
		}
	}
	return some
}

// Of returns where a process runs. Of returns false if the layout is nil or does not contain the process.
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

// CPUs returns the CPUs to which a process is pinned, or nil if it is not pinned.
func (l *Layout) CPUs(name string) machine.CPUs {
	p, _ := l.Of(name)
	return p.CPUs
}

// Plain reports whether the layout made no choice, because there is one host and no process is pinned.
func (l *Layout) Plain() bool { return len(l.Hosts) == 1 && l.Affinity == Anywhere }
