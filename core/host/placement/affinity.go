package placement

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/machine"
)

// Affinity says on which CPUs the processes of a host may run.
type Affinity string

// These are the affinities.
const (
	// Anywhere leaves the choice to the kernel.
	Anywhere Affinity = "none"
	// OnNode keeps each process on the CPUs of one NUMA node.
	OnNode Affinity = "numa"
	// OnCores gives each trainer and server its own cores. All get the same number, and the cores of a process are in
	// one NUMA node.
	OnCores Affinity = "core"
)

// Affinities lists all affinities. The first is the default.
var Affinities = []string{string(Anywhere), string(OnNode), string(OnCores)}

// Pin is the part of a host on which a process runs.
type Pin struct {
	Node int // number of the NUMA node
	CPUs machine.CPUs
}

// Pins returns the pins of one host's processes, which must be in the order of their ranks. There are none if the
// affinity is none or the host's CPUs are unknown. A companion works while its process waits, so both have the same
// CPUs. If the host cannot provide the affinity, note says in a sentence which affinity applies instead. Otherwise note
// is "".
//
// Ranks that communicate share a node if possible. Trainers get blocks of the host's cores in rank order, and so do
// servers. A server is therefore on the node of its first trainer, as Plan places servers on the hosts of their first
// trainers. With OnCores, each rank gets the same number of cores: the number that fits on the fullest node. So no
// trainer is faster because its node has fewer ranks. If a node has fewer cores than trainers and servers, the affinity
// becomes OnNode. Data is on the node of the first trainer.
func Pins(host Host, processes []Process, affinity Affinity) (pins map[string]Pin, note string) {
	switch {
	case affinity == Anywhere:
		return nil, ""
	case host.cores() == 0:
		return nil, fmt.Sprintf("%s does not report its CPUs: affinity is %s there, not %s",
			host.Name, Anywhere, affinity)
	}
	nodeOf := make(map[string]int, len(processes)) // indices into host.Nodes
	users := make([][]string, len(host.Nodes))     // trainers and servers on each node
	for _, kind := range []Kind{Trainer, Server} {
		names := namesOf(processes, kind)
		for i, name := range names {
			n := nodeOfCore(host, block(i, len(names), host.cores()))
			nodeOf[name], users[n] = n, append(users[n], name)
		}
	}
	share := -1 // number of cores for each rank
	if affinity == OnCores {
		if share, note = coresEach(host, users); note != "" {
			share = -1
		}
	}
	pins = make(map[string]Pin, len(processes))
	for n, names := range users {
		for i, name := range names {
			pins[name] = pin(host.Nodes[n], i*share, share)
		}
	}
	for _, p := range processes {
		if _, has := pins[p.Name]; has {
			continue
		}
		if beside, ok := pins[p.Beside]; ok {
			pins[p.Name] = beside
		} else {
			pins[p.Name] = pin(host.Nodes[0], 0, -1)
		}
	}
	return pins, note
}

// namesOf returns the names of the processes of a kind, without companions.
func namesOf(processes []Process, kind Kind) (names []string) {
	for _, p := range processes {
		if p.Kind == kind && p.Beside == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// nodeOfCore returns the index of the node that contains a core. Cores are numbered over the whole host.
func nodeOfCore(host Host, core int) int {
	for n, node := range host.Nodes {
		if core -= len(node.Cores); core < 0 {
			return n
		}
	}
	return len(host.Nodes) - 1
}

// coresEach returns the number of cores for each trainer and server, or a note if there are too few cores.
func coresEach(host Host, users [][]string) (share int, note string) {
	for n, node := range host.Nodes {
		if len(users[n]) == 0 {
			continue
		}
		each := len(node.Cores) / len(users[n])
		if each == 0 {
			return 0, fmt.Sprintf(
				"NUMA node %d of %s has %d cores for %d trainers and servers: affinity is %s there, not %s",
				node.Number, host.Name, len(node.Cores), len(users[n]), OnNode, OnCores)
		}
		if share == 0 || each < share {
			share = each
		}
	}
	return share, ""
}

// pin returns a pin with count cores of a node, starting with core first. If count is negative, pin returns the whole
// node.
func pin(node machine.Node, first, count int) Pin {
	if count < 0 {
		return Pin{node.Number, node.CPUs()}
	}
	cpus := slices.Concat(node.Cores[first : first+count]...)
	slices.Sort(cpus)
	return Pin{node.Number, cpus}
}
