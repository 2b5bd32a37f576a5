package shared

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// Provider makes links through shared memory.
type Provider struct{}

// Maps is true.
func (Provider) Maps() bool { return true }

// NewStore allocates a store in a segment of shared memory, which the ranks that this one
// joins will map. All of it is touched, so that no page fault falls into an iteration.
func (Provider) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	return layout.NewStore(owner+" buckets", specs, true)
}

// ReserveStores compares what the stores need with the memory there is.
func (Provider) ReserveStores(owners []string, specs []tensor.BucketSpec) error {
	return shm.Reserve("the buckets of "+comm.JoinNames(owners), int64(len(owners))*int64(layout.StoreBytes(specs)))
}

// SendStore passes the store's segment.
func (Provider) SendStore(conn *wire.Conn, store *comm.Store) error {
	return layout.SendStore(conn, store)
}

// ReceiveStore maps it.
func (Provider) ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error) {
	return layout.ReceiveStore(conn, specs, true)
}

// NewLookupStore allocates it in a segment, which the servers of all tables map.
func (Provider) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return layout.NewLookupStore(owner, spec)
}

// NewServerLink starts a link whose pushes are stores into slots.
func (Provider) NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error) {
	return newLink(conn, store, timeout)
}

// NewPort makes a port that hands over gradients where they are, never in chunks. Who takes chunks
// is handed large ones in ordinary memory of the trainers in pieces.
func (Provider) NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error) {
	return newPort(trainers, specs, chunked)
}

// GroupPeers lists all others, whose memory each member maps.
func (Provider) GroupPeers(position, size int) []int {
	var peers []int
	for i := range size {
		if i != position {
			peers = append(peers, i)
		}
	}
	return peers
}

// NewGroup joins a group whose members work in each other's memory.
func (Provider) NewGroup(members wire.Links, position int, store *comm.Store) (comm.GroupLink, error) {
	return newGroup(members, position, store)
}

// NewTableLink joins a server that works in the trainer's store.
func (Provider) NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration) (comm.TableLink, error) {
	if err := store.CheckTable(table); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s cannot join %s: %w", conn.Self(), conn.Peer(), err)
	}
	return newTableLink(conn, store, table, timeout)
}

// NewTablePort makes a port that works in the trainers' stores.
func (Provider) NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	if err := spec.CheckTable(table); err != nil {
		_ = trainers.Close()
		return nil, fmt.Errorf("%s: %w", trainers.Self, err)
	}
	return newTablePort(trainers, spec, table)
}
