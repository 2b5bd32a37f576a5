package cluster

import (
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
)

// Member is a process of the cluster. Callers embed a pointer to it in what they know of
// the process beyond this.
type Member struct {
	Name   string // trainer0, data, trainer0.hook
	Plugin registry.Plugin
	// Part is its first part, kind and key, for who wants to know what the process is.
	Part string
	// Protocol says that the part is called by the frames of docs/protocol.md.
	Protocol bool
	// Host is the process of psbench beside which a part of another plugin runs that a rank's
	// own process does not hold; "" of all others. What that says it may say of the part.
	Host string
	// Input says that it reads the core's standard input, which it has on the core's host.
	Input bool
	// Env is in addition to the core's own environment. It is asked for when the sites of
	// all processes are known.
	Env func() []string
	// Follower, if set, is told how far the process is.
	Follower *monitor.Follower

	// Process is set once it runs, and the site where it is to run before that.
	Process
	site Site
	// Addresses, known once it is configured: of its Unix socket, for processes of its
	// host, and for links on the transport that is measured.
	Address, LinkAddress string
	left                 string // what its parts left running, in words
}

// member is a *Member or what embeds one.
type member interface{ base() *Member }

func (m *Member) base() *Member { return m }

// Site is where the process runs, or is to run.
func (m *Member) Site() Site {
	if m.Process != nil {
		return m.Process.Site()
	}
	return m.site
}

// Peer is the process to those that reach its Unix socket.
func (m *Member) Peer() process.Peer {
	return process.Peer{Name: m.Name, Address: m.Address, Protocol: m.Protocol}
}

// LinkPeer is the process to another that it has a link with, by the fabric that is measured: where
// that has links of its own within a host, and both share one, they meet at Unix sockets.
func (m *Member) LinkPeer(f *fabric.Fabric, to member) process.Peer {
	if f.Within != nil && SameHost(m, to) {
		return process.Peer{Name: m.Name, Address: m.Address}
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress}
}

// NearPeer is the process to another that it hands something to which is not measured: at Unix sockets
// where both share a host, else where links come from elsewhere.
func (m *Member) NearPeer(to member) process.Peer {
	if SameHost(m, to) {
		return m.Peer()
	}
	return process.Peer{Name: m.Name, Address: m.LinkAddress, Protocol: m.Protocol}
}

// Names are those of some processes, in their order.
func Names[M member](members []M) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.base().Name
	}
	return names
}
