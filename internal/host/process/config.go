package process

import (
	"slices"
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Config identifies a process, its place and its run.
type Config struct {
	Name      string // trainer0, server2, data, trainer0.hook
	Rank      int    // rank that the process belongs to; -1 for data
	Part      Choice // empty for bench processes
	Timeout   time.Duration
	Secret    []byte // proves that a peer belongs to this run
	Directory string // folder of the sockets
	Transport string // transport of the run's links
	Listen    string // IP address to listen on, if the transport uses one
	// InsecureNetwork disables TLS on addresses that other hosts can reach.
	InsecureNetwork bool
	// Check is the seed for choosing slices of the links' exchanges to keep. If Check is nil, the
	// process keeps no slices.
	Check *uint64
	// Engine opens the engine of the process's plugin. If Engine is nil, the process computes in
	// ordinary memory.
	Engine engine.Opener
}

// Choice is a part with its settings, a JSON object.
type Choice struct {
	Kind     sdk.Kind
	Key      string
	Settings []byte
}

// Title returns the part's kind and key, as used in errors.
func (c Choice) Title() string { return string(c.Kind) + " " + c.Key }

// Peer is a process at the other end of a link.
type Peer struct {
	Name, Address string
	Protocol      bool // whether calls use the frames of docs/protocol.md
}

// Group lists the members of a collective by rank, with the position of this process.
type Group struct {
	Members  []Peer
	Position int
	Hosts    []int // host number of each member; nil if all share one host
	Across   bool  // whether a device library joins members on different devices
}

// OnOneHost reports whether all members share a host.
func (g *Group) OnOneHost() bool {
	return !slices.ContainsFunc(g.Hosts, func(host int) bool { return host != g.Hosts[0] })
}

// HookLinks are the links that a hook uses; each may be nil.
type HookLinks struct {
	Server         *Peer
	Group, Default *Group
	// Together holds the trainers of this host that push to the server as one.
	Together *Group
	// Traffic is the hook's plan; nil if the hook plans nothing.
	Traffic sdk.Traffic
}
