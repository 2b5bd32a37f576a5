// Package provider is the contract between a fabric and the code that makes its
// links. Every transport implements Provider, and each optional ability has its
// own interface. If a provider wraps another provider, it embeds the interface,
// not the other's type. A wrapper that embeds the type would inherit abilities
// whose results bypass the wrapper.
package provider

import (
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Provider makes links, and the memory for their gradients and lookups. A link
// or port owns the connections passed to it, also after an error.
type Provider interface {
	// Maps reports whether ranks of one host map each other's memory. If so, a
	// push in place moves no bytes.
	Maps() bool
	// NewStore allocates a rank's buckets in memory that suits the provider's
	// links. If memory is short, the error says how much is available.
	NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error)
	// ReserveStores returns an error if the stores of all owners, who share
	// this host, do not fit into its memory together. If each process only
	// checked its own store, every check could pass, and the kernel would kill
	// the last process to touch its pages.
	ReserveStores(owners []string, specs []tensor.BucketSpec) error
	// SendStore passes a store to the peer of conn, which calls ReceiveStore.
	// If ranks map memory, the peer gets the same memory; otherwise it
	// allocates a store like this one.
	SendStore(conn *wire.Conn, store *comm.Store) error
	ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error)
	// NewLookupStore allocates the memory of a trainer's lookups.
	// NewLookupStore returns an error if less memory is available.
	NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error)

	// NewServerLink starts a trainer's link to its server, which carries the
	// buckets of store. A push is in place if ranks map memory and the gradient
	// lies in the store. The server must answer each push within timeout.
	NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error)
	// NewPort makes a server's port. With chunked set, the port may hand over a
	// dense push chunk by chunk: see Arrival. A trainer must accept an answer
	// within the timeout.
	NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error)

	// GroupPeers lists the positions of the group members to which the member
	// at position needs a connection. hosts[i] is the number of member i's
	// host. In each pair, the lower position dials.
	GroupPeers(position int, hosts []int) []int
	// NewGroup joins the member at the given position. members has connections
	// to the positions of GroupPeers, and nil for all others. All members must
	// agree on the hosts and on the store's specs. An operation must end within
	// the timeout after its start.
	NewGroup(members wire.Links, hosts []int, position int, store *comm.Store) (comm.GroupLink, error)

	// NewTableLink joins the server of a table. table is the table's index in
	// store.Tables.
	NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (comm.TableLink, error)
	// NewTablePort makes the port of a table's server. table is the table's
	// index in spec.
	NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error)
}

// Aggregator is a Provider that can join a host's trainers to a server on
// another host as one trainer.
type Aggregator interface {
	// NewAggregate joins one of a host's trainers. position is the trainer's
	// place among them, and here are its connections to the others. The trainer
	// at position 0 also has a connection to the server; for the others server
	// is nil. For the costs, see mixed.Provider.NewAggregate.
	NewAggregate(here wire.Links, position int, server *wire.Conn, store *comm.Store) (comm.ServerLink, error)
}

// Allocate makes a rank's store.
type Allocate func(owner string, specs []tensor.BucketSpec) (*comm.Store, error)

// Placer is a Provider whose user can decide where some of its stores lie.
type Placer interface {
	// Placing returns the Provider, which then makes these stores with
	// allocate.
	Placing(allocate Allocate) Provider
}

// Lender is a Provider whose links can leave bucket values in a device's
// memory.
type Lender interface {
	// On returns the Provider with links that leave values on d. With a nil d,
	// they leave no values there.
	On(d comm.Device) Provider
}
