package process

import (
	"slices"
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Config says who a process is, where, and in which run.
type Config struct {
	Name      string // trainer0, server2, data, trainer0.hook
	Rank      int    // of the rank that the process belongs to; -1 for data
	Part      Choice // none of bench processes
	Timeout   time.Duration
	Secret    []byte // proves that a peer belongs to this run
	Directory string // for sockets
	Transport string // of the run's links
	Listen    string // IP address to listen on where the transport uses one
	// InsecureNetwork leaves out TLS on addresses that other hosts reach.
	InsecureNetwork bool
	// Check is what the places of slices are drawn from that the process keeps of what its links
	// exchange; nil: it keeps none.
	Check *uint64
	// Engine opens the engine of the process's plugin; nil: the process computes in ordinary memory.
	Engine engine.Opener
}

// Choice is a part with its settings, a JSON object.
type Choice struct {
	Kind     sdk.Kind
	Key      string
	Settings []byte
}

// Title is the part as errors name it: its kind and key.
func (c Choice) Title() string { return string(c.Kind) + " " + c.Key }

// Peer is a process to join or to be joined by.
type Peer struct {
	Name, Address string
	Protocol      bool // it is called by the frames of docs/protocol.md
}

// Group is the members of a collective, in rank order, and the place of this process.
type Group struct {
	Members  []Peer
	Position int
	Hosts    []int // a number for the host of each member; nil: all share one
	Across   bool  // the members are on devices of their own, which a library of the devices joins
}

// OnOneHost says that all members share a host.
func (g *Group) OnOneHost() bool {
	return !slices.ContainsFunc(g.Hosts, func(host int) bool { return host != g.Hosts[0] })
}

// HookLinks are the links that a hook uses; each may be nil.
type HookLinks struct {
	Server         *Peer
	Group, Default *Group
	// Together are the trainers of this host that push to the server as one.
	Together *Group
}
