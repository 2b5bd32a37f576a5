package shared

import (
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/shared/group"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/serverlink"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Provider makes links through shared memory.
type Provider struct {
	// Device, if not nil, keeps bucket values in its memory on links whose both
	// ends share it.
	Device comm.Device
}

// On implements provider.Lender.
func (p Provider) On(d comm.Device) provider.Provider {
	p.Device = d
	return p
}

// Maps returns true.
func (Provider) Maps() bool { return true }

// NewStore allocates a store in a shared-memory segment, which the rank's peers
// will map. NewStore touches all pages, so no page fault happens in an
// iteration.
func (Provider) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	return layout.NewStore(owner+" buckets", specs, true)
}

// ReserveStores compares the stores' total size with the available memory.
func (Provider) ReserveStores(owners []string, specs []tensor.BucketSpec) error {
	return shm.Reserve("the buckets of "+comm.JoinNames(owners), int64(len(owners))*int64(layout.StoreBytes(specs)))
}

// SendStore passes the store's segment.
func (Provider) SendStore(conn *wire.Conn, store *comm.Store) error {
	return layout.SendStore(conn, store)
}

// ReceiveStore maps the peer's store.
func (Provider) ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error) {
	return layout.ReceiveStore(conn, specs, true)
}

// NewLookupStore allocates a lookup store in a segment, which the servers of
// all tables map.
func (Provider) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return layout.NewLookupStore(owner, spec)
}

// NewServerLink starts a link on which a push is a store into a slot.
func (p Provider) NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error) {
	return serverlink.New(conn, store, timeout, p.Device)
}

// NewPort makes a port that hands over gradients in place and never in chunks.
// With chunked set, the port hands over large gradients from a trainer's
// ordinary memory in pieces.
func (p Provider) NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error) {
	return serverlink.NewPort(trainers, specs, serverlink.Chunking{InPieces: chunked}, p.Device)
}

// NewPortBeside makes a port for the trainers with a connection here; another
// port serves the other trainers. With chunked set, it hands over gradients in
// chunks, because the other port does so too. Without chunked, the port hands
// over gradients as NewPort's port does.
func (Provider) NewPortBeside(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error) {
	return serverlink.NewPort(trainers, specs, serverlink.Chunking{InChunks: chunked}, nil)
}

// GroupPeers lists all other members, because each member maps the memory of
// all others.
func (Provider) GroupPeers(position int, hosts []int) []int {
	var peers []int
	for i := range hosts {
		if i != position {
			peers = append(peers, i)
		}
	}
	return peers
}

// NewGroup joins a group whose members work in each other's memory.
func (p Provider) NewGroup(members wire.Links, _ []int, position int, store *comm.Store) (comm.GroupLink, error) {
	return group.New(members, position, store, p.Device)
}

// NewGroupAcross joins a group on several hosts: see group.NewAcross.
func (Provider) NewGroupAcross(here wire.Links, at hosts.Layout, store *comm.Store,
	sums group.Summer) (comm.GroupLink, error) {
	return group.NewAcross(here, at, store, sums)
}

// NewTableLink joins a server that works in the trainer's store.
func (Provider) NewTableLink(
	conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration,
) (comm.TableLink, error) {
	return serverlink.NewTableLink(conn, store, table, timeout)
}

// NewTablePort makes a port that works in the trainers' stores.
func (Provider) NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	return serverlink.NewTablePort(trainers, spec, table)
}
