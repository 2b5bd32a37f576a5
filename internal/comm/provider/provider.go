// Package provider is the contract between a fabric and the code that makes its links: Provider, which all
// of them implement, and one interface for each optional ability. A provider that builds on another one
// embeds the interface, not the other's type: the type would promote abilities whose results lack the outer one.
package provider

import (
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Provider makes links, and the memory for their gradients and lookups. A link or port owns the
// connections given to it, also after an error.
type Provider interface {
	// Maps says that ranks of one host work in each other's memory, so that a push in place
	// moves no bytes.
	Maps() bool
	// NewStore allocates a rank's buckets where links want them. If memory is short, the
	// error says how much is available.
	NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error)
	// ReserveStores reports that the stores of all owners, of this host, do not fit into its
	// memory together. A check of each process alone would pass, and the kernel would kill
	// the last one to touch its pages.
	ReserveStores(owners []string, specs []tensor.BucketSpec) error
	// SendStore passes a store to the peer of conn, which calls ReceiveStore: the same memory
	// where ranks map it, else one like it for each.
	SendStore(conn *wire.Conn, store *comm.Store) error
	ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error)
	// NewLookupStore allocates the memory of a trainer's lookups. It is an error if less is
	// available.
	NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error)

	// NewServerLink starts a trainer's link to its server, which carries the buckets of store.
	// A push is in place where ranks map memory and the gradient lies in the store. The server
	// must answer each push within timeout.
	NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error)
	// NewPort makes the port of a server. With chunked set, it may hand over a dense push
	// chunk by chunk, see Arrival. A trainer must accept an answer within the timeout.
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
	// NewAggregate joins the trainer at this position among them; here are its connections to the others.
	// The trainer at position 0 also has a connection to the server; for the others server is nil. The
	// comment of mixed.Provider has the costs.
	NewAggregate(here wire.Links, position int, server *wire.Conn, store *comm.Store) (comm.ServerLink, error)
}

// Allocate makes a rank's store.
type Allocate func(owner string, specs []tensor.BucketSpec) (*comm.Store, error)

// Placer is a Provider that lets its user say where some of its stores lie.
type Placer interface {
	// Placing returns the Provider with these stores made by allocate.
	Placing(allocate Allocate) Provider
}

// Lender is a Provider whose links can leave the values of buckets in the memory of a device.
type Lender interface {
	// On returns the Provider whose links leave values on d; with a nil d they leave none.
	On(d comm.Device) Provider
}
