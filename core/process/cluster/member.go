package cluster

import (
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
)

// Member is a process of the cluster. Callers embed a pointer to it in their own types.
type Member struct {
	Name   string // trainer0, data, trainer0.hook
	Plugin registry.Plugin
	// Part is the kind and key of its first part, for messages.
	Part string
	// Protocol means that the part is called by the frames of docs/protocol.md.
	Protocol bool
	// Host is the psbench process for which this process runs a part of another plugin; "" for all others. The
	// host's messages may be about the part.
	Host string
	// Input means that it reads the core's standard input, available on the core's host.
	Input bool
	// Env returns variables in addition to the core's environment. It is called after the sites of all processes
	// are known.
	Env func() []string
	// Follower, if set, gets the progress of the process.
	Follower *monitor.Follower

	// Process is set once it runs; before that, site says where it will run.
	Process
	site Site
	// Address is its Unix socket, for processes of its host; LinkAddress is for links of the measured transport.
	// Both are known once it is configured.
	Address, LinkAddress string
	left                 string // what its parts left running, in words
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

// Peer returns the process for peers that use its Unix socket.
func (m *Member) Peer() process.Peer {
	return process.Peer{Name: m.Name, Address: m.Address, Protocol: m.Protocol}
}

// LinkPeer returns the process for a peer that it has a measured link with. If the fabric has links of its own
// within a host and both share a host, they meet at Unix sockets.
func (m *Member) LinkPeer(f *fabric.Fabric, to member) process.Peer {
	if f.Within != nil && SameHost(m, to) {
		return process.Peer{Name: m.Name, Address: m.Address}
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress}
}

// NearPeer returns the process for a peer to which it passes data that is not measured: at a Unix socket on the
// same host, otherwise at the address for links.
func (m *Member) NearPeer(to member) process.Peer {
	if SameHost(m, to) {
		return m.Peer()
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress, Protocol: m.Protocol}
}

// Names returns the names of processes in order.
func Names[M member](members []M) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.base().Name
	}
	return names
}
