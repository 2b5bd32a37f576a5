package placement

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/machine"
)

// Affinity says which CPUs the processes of a host may run on.
type Affinity string

// The affinities.
const (
	// Anywhere leaves that to the kernel: all CPUs that psbench may run on.
	Anywhere Affinity = "none"
	// OnNode keeps each process on the CPUs of one NUMA node.
	OnNode Affinity = "numa"
	// OnCores gives trainers and servers cores of their own, each equally many, of one NUMA node.
	OnCores Affinity = "core"
)

// Affinities are all there are, the default first.
var Affinities = []string{string(Anywhere), string(OnNode), string(OnCores)}

// Pin is where on its host a process runs.
type Pin struct {
	Node int // the number of the NUMA node
	CPUs machine.CPUs
}

// Pins are those of the processes of one host, in the order of their ranks; none where the affinity is none, or
// where the CPUs of the host are not known. A companion, which works while its process waits, has the CPUs of
// that. note says in a sentence, unless it is "", that the host cannot have the affinity, and what it has.
//
// Ranks that talk share a node where that is possible: trainers get blocks of the host's cores in the order of
// their ranks, servers too, so that a server is beside the first of its trainers, as Plan has it on hosts.
// With OnCores each gets as many cores as there are for one on the fullest node, so that no trainer is faster
// for want of neighbours; with fewer cores than trainers and servers on some node, the affinity is OnNode.
// Data is on the node of the first trainer.
func Pins(host Host, processes []Process, affinity Affinity) (pins map[string]Pin, note string) {
	switch {
	case affinity == Anywhere:
		return nil, ""
	case host.cores() == 0:
		return nil, fmt.Sprintf("%s does not tell its CPUs: affinity is %s there, not %s",
			host.Name, Anywhere, affinity)
	}
	nodeOf := make(map[string]int, len(processes)) // indices into host.Nodes
	users := make([][]string, len(host.Nodes))     // trainers and servers of each node
	for _, kind := range []Kind{Trainer, Server} {
		names := namesOf(processes, kind)
		for i, name := range names {
			n := nodeOfCore(host, block(i, len(names), host.cores()))
			nodeOf[name], users[n] = n, append(users[n], name)
		}
	}
	share := -1 // cores for each
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

// namesOf are the processes of a kind that stand by themselves.
func namesOf(processes []Process, kind Kind) (names []string) {
	for _, p := range processes {
		if p.Kind == kind && p.Beside == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// nodeOfCore is the index of the node that has a core, by its place among all of the host.
func nodeOfCore(host Host, core int) int {
	for n, node := range host.Nodes {
		if core -= len(node.Cores); core < 0 {
			return n
		}
	}
	return len(host.Nodes) - 1
}

// coresEach is how many cores each trainer and server gets, or why there are too few.
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

// pin is so many cores of a node, from one of them on, or the whole node if that is negative.
func pin(node machine.Node, first, count int) Pin {
	if count < 0 {
		return Pin{node.Number, node.CPUs()}
	}
	cpus := slices.Concat(node.Cores[first : first+count]...)
	slices.Sort(cpus)
	return Pin{node.Number, cpus}
}
