// Package fabric is the table of what carries links, by name, and the only place that tells
// them apart. Adding one is a line of the table, of a network and a provider.
package fabric

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/mixed"
	"github.com/psbench/psbench/internal/comm/shared"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/comm/wire/grpc"
)

// Fabric is what carries links: a network over which ranks reach each other, and a
// provider that makes links of its connections.
type Fabric struct {
	Name    string
	Network *wire.Network
	Provider
	// Within, if it is set, is what carries the links of ranks that share a host, Between what
	// carries the others, over Network.
	Within, Between *Fabric
}

// Provider makes links, and the memory of what travels over them. What it makes owns the
// connections that it was given, also after an error.
type Provider interface {
	// Maps says that ranks of one host work in each other's memory, so that a push in place
	// moves no bytes.
	Maps() bool
	// NewStore allocates a rank's buckets where links want them. The error says how much
	// memory there is if that is not enough.
	NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error)
	// ReserveStores reports that the stores of all owners, of this host, together do not fit
	// into its memory: each alone would find that there is room for it, and the last
	// one to touch its pages would be killed.
	ReserveStores(owners []string, specs []tensor.BucketSpec) error
	// SendStore passes a store to the peer of conn, which calls ReceiveStore: the same memory
	// where ranks map it, else one like it for each.
	SendStore(conn *wire.Conn, store *comm.Store) error
	ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error)
	// NewLookupStore allocates the memory of a trainer's lookups, after comparing it with
	// what is left.
	NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error)

	// NewServerLink starts a trainer's link to its server. The buckets of store may be
	// pushed; in place where ranks map memory and the gradient lies in the store. Each
	// push must be answered within timeout.
	NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error)
	// NewPort makes the port of a server. With chunked set, it may hand over a dense push
	// chunk by chunk, see Arrival. An answer must be accepted within the timeout.
	NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error)

	// GroupPeers lists the positions with which the member at position of a group needs a
	// connection; hosts has a number for the host of each member. The lower position of a
	// pair dials.
	GroupPeers(position int, hosts []int) []int
	// NewGroup joins the member at the given position. Its peers are those of GroupPeers,
	// the others nil. All members must agree on the hosts and on the store's specs. An
	// operation must end within the timeout of its start.
	NewGroup(members wire.Links, hosts []int, position int, store *comm.Store) (comm.GroupLink, error)

	// NewTableLink joins the server of a table, its place in store.Tables.
	NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (comm.TableLink, error)
	// NewTablePort makes the port of the server of the table at this place of spec.
	NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error)
}

// Aggregator is a Provider that can join the trainers of a host to a server on another as if they were one.
type Aggregator interface {
	// NewAggregate joins the one at a position of those trainers, which here has connections to. The first one
	// has a connection to the server; of the others it is nil. What it costs says mixed.Provider.
	NewAggregate(here wire.Links, position int, server *wire.Conn, store *comm.Store) (comm.ServerLink, error)
}

var (
	// sharedMemory is the fastest between processes of one host.
	sharedMemory = &Fabric{Name: "shm", Network: wire.Unix, Provider: shared.Provider{}}
	// hostStreams joins processes of one host, whatever their links are.
	hostStreams = &Fabric{Name: "unix", Network: wire.Unix, Provider: stream.Provider{}}
	ipStreams   = &Fabric{Name: "tcp", Network: wire.TCP, Provider: stream.Provider{}}
	// byHost is the fastest between processes of several hosts.
	byHost = &Fabric{Name: "shm+tcp", Network: wire.TCP, Provider: mixed.Provider{}, Within: sharedMemory, Between: ipStreams}
)

// fabrics lists what there is, in the order in which it is shown.
var fabrics = []*Fabric{
	sharedMemory,
	hostStreams,
	ipStreams,
	{Name: "grpc", Network: grpc.Network, Provider: stream.Provider{}},
	byHost,
}

// Extend adds a fabric before anything is opened: tests run psbench over fabrics of
// their own.
func Extend(f *Fabric) { fabrics = append(fabrics, f) }

// Names lists the names of all fabrics.
func Names() []string {
	names := make([]string, len(fabrics))
	for i, f := range fabrics {
		names[i] = f.Name
	}
	return names
}

// Default is the fastest between processes of one host.
func Default() *Fabric { return sharedMemory }

// DefaultAcross is the fastest between processes of several hosts.
func DefaultAcross() *Fabric { return byHost }

// Open is the fabric of a name.
func Open(name string) (*Fabric, error) {
	for _, f := range fabrics {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no transport %q: it is one of %v", name, Names())
}

// OnOneHost says that it joins processes of one host alone.
func (f *Fabric) OnOneHost() bool { return !f.Network.OnIP() }

// Link is what carries the link of two ranks, which share a host or do not: this one, unless it is
// made of two.
func (f *Fabric) Link(oneHost bool) *Fabric {
	switch {
	case f.Within == nil:
		return f
	case oneHost:
		return f.Within
	default:
		return f.Between
	}
}

// Aggregates says that its provider is an Aggregator.
func (f *Fabric) Aggregates() bool {
	_, ok := f.Provider.(Aggregator)
	return ok
}

// InSegments is the fabric whose stores all lie in segments, which can be passed to a process that no
// link joins: this one if it maps memory. What it carries, and who it can join, is the same.
func (f *Fabric) InSegments() *Fabric {
	g := *f
	switch p := f.Provider.(type) {
	case stream.Provider:
		p.Allocate = sharedMemory.NewStore
		g.Provider = p
	case mixed.Provider:
		p.Between.Allocate = sharedMemory.NewStore
		g.Provider = p
	}
	return &g
}

// Insecure is this fabric without TLS.
func (f *Fabric) Insecure() *Fabric {
	g := *f
	g.Network = f.Network.Insecure()
	return &g
}

// On is the fabric whose links leave the values of buckets in the memory of a device, where both ends
// share that: this one if it maps no memory of a host.
func (f *Fabric) On(d comm.Device) *Fabric {
	p, ok := f.Provider.(shared.Provider)
	if !ok {
		return f
	}
	p.Device = d
	g := *f
	g.Provider = p
	return &g
}

// Companions is the fabric that joins processes which always share a host, as a trainer
// and its companions do: this one if it maps memory.
func (f *Fabric) Companions() *Fabric {
	if f.Maps() {
		return f
	}
	return hostStreams
}
