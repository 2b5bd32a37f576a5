// Package placement decides on which host, and on which CPUs of this host, each process of a run runs. These decisions
// are pure functions of hosts and processes. The package also chooses the address on which the processes of a host
// listen.
package placement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/host/machine"
)

// Host is a machine that may run processes. The core's host is the first of a list if it runs processes.
type Host struct {
	Name string `json:"name"`
	// Nodes lists the host's NUMA nodes with the CPUs for processes. Nodes is empty if the nodes are unknown.
	Nodes []machine.Node `json:"nodes,omitempty"`
	// MemoryMiB is the memory that the host's kernel manages, in MiB, without cgroup limits. MemoryMiB is 0 if unknown.
	MemoryMiB int64 `json:"memory_mib,omitempty"`
	// GPUs is the number of the host's CUDA devices that CUDA_VISIBLE_DEVICES does not hide.
	GPUs int `json:"gpus,omitempty"`
}

// Has describes what a host has, as in "CPUs 0-3 in NUMA node 0, 4-7 in 1; 64 GiB; 2 GPUs".
func (h Host) Has() string {
	var parts []string
	for i, n := range h.Nodes {
		form := "%s in %d"
		if i == 0 {
			form = "CPUs %s in NUMA node %d"
		}
		parts = append(parts, fmt.Sprintf(form, n.CPUs(), n.Number))
	}
	said := []string{strings.Join(parts, ", ")}
	if len(parts) == 0 {
		said[0] = "CPUs unknown"
	}
	if h.MemoryMiB > 0 {
		said = append(said, strconv.FormatFloat(float64(h.MemoryMiB)/1024, 'f', 1, 64)+" GiB")
	}
	switch {
	case h.GPUs == 1:
		said = append(said, "1 GPU")
	case h.GPUs > 1:
		said = append(said, strconv.Itoa(h.GPUs)+" GPUs")
	}
	return strings.Join(said, "; ")
}

// cores returns the number of the host's cores for processes.
func (h Host) cores() (n int) {
	for _, node := range h.Nodes {
		n += len(node.Cores)
	}
	return n
}

// Kind is the role of a process.
type Kind string

// These are the kinds of processes. A companion has the kind of its process.
const (
	Trainer Kind = "trainer"
	Server  Kind = "server"
	Data    Kind = "data"
)

// Process is a process to be placed. In lists, the processes of a kind are in rank order.
type Process struct {
	Name string
	Kind Kind
	// Beside is the process whose host this process must share. Beside is "" if any host is possible.
	Beside string
	CUDA   bool // the process computes on a device
}

// Policy says on which hosts servers run. Trainers always form blocks of nearly equal size over their hosts in rank
// order, and so do servers.
type Policy string

// These are the policies.
const (
	// Spread puts servers on all hosts. Each server is on the host of its first trainer.
	Spread Policy = "spread"
	// Packed puts servers on as few hosts as possible, beginning with the last. These hosts have a core for each
	// server.
	Packed Policy = "packed"
	// Apart reserves the last hosts for servers. The share of hosts for servers is the share of servers among the
	// ranks, rounded down, but at least one host.
	Apart Policy = "apart"
)

// Policies lists all policies. The first is the default.
var Policies = []string{string(Spread), string(Packed), string(Apart)}

// Plan returns, for each process by name, the index of its host. Plan places CUDA ranks separately, on hosts with a
// GPU. Plan places data on the first host. The error names the rank that fits on no host.
func Plan(hosts []Host, processes []Process, policy Policy) (map[string]int, error) {
	ranks := ranksOf(processes)
	trainerHosts, serverHosts, err := divide(hosts, ranks, policy)
	if err != nil {
		return nil, err
	}
	plan := make(map[string]int, len(processes))
	for _, r := range ranks {
		usable := trainerHosts
		if r.kind == Server {
			usable = serverHosts
		}
		if r.cuda {
			usable = withGPU(hosts, usable)
		}
		if len(usable) == 0 {
			return nil, fmt.Errorf("%s computes on a CUDA device, but %s that CUDA_VISIBLE_DEVICES leaves visible",
				r.names[0], noneHas(hosts, r.kind, policy))
		}
		if r.kind == Server && policy == Packed {
			usable = pack(hosts, usable, r)
		}
		for i, name := range r.names {
			plan[name] = usable[block(i, len(r.names), len(usable))]
		}
	}
	for _, p := range processes {
		if _, placed := plan[p.Name]; !placed && p.Beside == "" { // the data process
			plan[p.Name] = 0
		}
	}
	return plan, follow(plan, processes)
}

// ranks is a group of processes of one kind that are placed together.
type ranks struct {
	kind  Kind
	cuda  bool
	names []string
}

// ranksOf returns the trainers and servers without companions, grouped by kind. Ranks on devices form separate groups.
func ranksOf(processes []Process) []ranks {
	var all []ranks
	for _, kind := range []Kind{Trainer, Server} {
		for _, cuda := range []bool{false, true} {
			r := ranks{kind: kind, cuda: cuda}
			for _, p := range processes {
				if p.Kind == kind && p.CUDA == cuda && p.Beside == "" {
					r.names = append(r.names, p.Name)
				}
			}
			if len(r.names) > 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

// divide returns the hosts for trainers and the hosts for servers.
func divide(hosts []Host, all []ranks, policy Policy) (trainers, servers []int, err error) {
	if len(hosts) == 0 {
		return nil, nil, fmt.Errorf("there is no host for the processes of the run")
	}
	every := make([]int, len(hosts))
	for i := range every {
		every[i] = i
	}
	if policy != Apart {
		return every, every, nil
	}
	counts := map[Kind]int{}
	for _, r := range all {
		counts[r.kind] += len(r.names)
	}
	switch s := counts[Server]; {
	case s == 0:
		return every, nil, nil
	case len(hosts) == 1:
		return nil, nil,
			fmt.Errorf("servers cannot be on hosts of their own (place is %s): %s is the only host; give more hosts, or place %s or %s",
				Apart, hosts[0].Name, Spread, Packed)
	default:
		own := min(max(1, len(hosts)*s/(s+counts[Trainer])), s, len(hosts)-1)
		return every[:len(hosts)-own], every[len(hosts)-own:], nil
	}
}

// pack returns as few hosts as possible, taken from the end of usable. The hosts must have a core for each rank, or a
// GPU if the rank needs one. If the hosts are too few, pack returns all of them.
func pack(hosts []Host, usable []int, r ranks) []int {
	for n := 1; n < len(usable); n++ {
		last, fit := usable[len(usable)-n:], true
		for i, h := range last {
			room := hosts[h].cores()
			if r.cuda {
				room = hosts[h].GPUs
			}
			fit = fit && most(i, len(r.names), n) <= room
		}
		if fit {
			return last
		}
	}
	return usable
}

// block returns the index of the host for the rank at a position. Each host gets a block of consecutive ranks, and the
// sizes of blocks differ by at most one. The same formula places servers. Each server has a block of trainers, so a
// server is on the host of its first trainer.
func block(place, ranks, hosts int) int { return place * hosts / ranks }

// most returns the largest number of ranks that block assigns to a host.
func most(host, ranks, hosts int) int {
	first := func(h int) int { return (h*ranks + hosts - 1) / hosts } // first rank of a host
	return first(host+1) - first(host)
}

// withGPU returns those hosts that have a GPU.
func withGPU(hosts []Host, some []int) (kept []int) {
	for _, h := range some {
		if hosts[h].GPUs > 0 {
			kept = append(kept, h)
		}
	}
	return kept
}

// follow places companions on the hosts of their processes.
func follow(plan map[string]int, processes []Process) error {
	for _, p := range processes {
		if p.Beside == "" {
			continue
		}
		host, ok := plan[p.Beside]
		if !ok {
			return fmt.Errorf("%s must be beside %s, which is not placed before it", p.Name, p.Beside)
		}
		plan[p.Name] = host
	}
	return nil
}

// noneHas returns a text that says that no host has a device for ranks of a kind.
func noneHas(hosts []Host, kind Kind, policy Policy) string {
	switch {
	case len(hosts) == 1:
		return hosts[0].Name + " has none"
	case policy == Apart:
		return fmt.Sprintf("none of the hosts for %ss, of %d hosts, has one", kind, len(hosts))
	default:
		return fmt.Sprintf("none of %d hosts has one", len(hosts))
	}
}
