package cluster

import (
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
)

// Member is a process of the cluster. Callers embed a *Member in their own types.
type Member struct {
	Name   string // such as trainer0, data or trainer0.hook
	Plugin registry.Plugin
	// Part is the kind and key of the process's first part, for messages.
	Part string
	// Protocol means that peers call the part with the frames of docs/protocol.md.
	Protocol bool
	// Host is set if this process runs a part of another plugin for a psbench process. Host is then the name of that
	// psbench process, whose messages may be about the part.
	Host string
	// Input means that the process reads the core's standard input. Only processes on the core's host can.
	Input bool
	// Env returns environment variables to add to the core's environment. Env is called after the sites of all
	// processes are known.
	Env func() []string
	// Follower, if set, receives the progress of the process.
	Follower *monitor.Follower

	// Process is nil until the process runs. Until then, site says where it will run.
	Process
	site Site
	// Address is the process's Unix socket, for peers on the same host. LinkAddress is its address for links of the
	// measured transport. Both addresses are set once the process is configured.
	Address, LinkAddress string
	left                 string // text that says what the parts left running
}

// member is a *Member or a type that embeds one.
type member interface{ base() *Member }

func (m *Member) base() *Member { return m }

// Site returns where the process runs or will run.
func (m *Member) Site() Site {
	if m.Process != nil {
		return m.Process.Site()
	}
	return m.site
}

// Peer returns the address of the process for peers that use its Unix socket.
func (m *Member) Peer() process.Peer {
	return process.Peer{Name: m.Name, Address: m.Address, Protocol: m.Protocol}
}

// LinkPeer returns the address of the process for the peer at the other end of a measured link. If both processes are
// on one host and the fabric has a separate transport within hosts, the address is the Unix socket.
func (m *Member) LinkPeer(f *fabric.Fabric, to member) process.Peer {
	if f.Within != nil && SameHost(m, to) {
		return process.Peer{Name: m.Name, Address: m.Address}
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress}
}

// NearPeer returns the address of the process for a peer with which it exchanges data that is not measured. On the same
// host this is the Unix socket, otherwise the address for links.
func (m *Member) NearPeer(to member) process.Peer {
	if SameHost(m, to) {
		return m.Peer()
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress, Protocol: m.Protocol}
}

// Names returns the names of the members in order.
func Names[M member](members []M) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.base().Name
	}
	return names
}
