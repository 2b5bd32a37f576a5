package comm

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// sharedProvider makes links through shared memory.
type sharedProvider struct{}

// Maps is true.
func (sharedProvider) Maps() bool { return true }

// NewStore allocates a store in a segment of shared memory, which the ranks that this one
// joins will map. All of it is touched, so that no page fault falls into an iteration.
func (sharedProvider) NewStore(owner string, specs []tensor.BucketSpec) (*Store, error) {
	return newSegmentStore(owner+" buckets", specs, true)
}

// ReserveStores compares what the stores need with the memory there is.
func (sharedProvider) ReserveStores(owners []string, specs []tensor.BucketSpec) error {
	return shm.Reserve("the buckets of "+JoinNames(owners), int64(len(owners))*int64(storeSize(specs)))
}

// SendStore passes the store's segment.
func (sharedProvider) SendStore(conn *Conn, store *Store) error { return sendStore(conn, store) }

// ReceiveStore maps it.
func (sharedProvider) ReceiveStore(conn *Conn, specs []tensor.BucketSpec) (*Store, error) {
	return receiveStore(conn, specs, true)
}

// NewLookupStore allocates it in a segment, which the servers of all tables map.
func (sharedProvider) NewLookupStore(owner string, spec LookupSpec) (*LookupStore, error) {
	return newLookupStore(owner, spec)
}

// NewServerLink starts a link whose pushes are stores into slots.
func (sharedProvider) NewServerLink(conn *Conn, store *Store, timeout time.Duration) (ServerLink, error) {
	return newSharedLink(conn, store, timeout)
}

// NewPort makes a port that hands over gradients where they are, never in chunks.
func (sharedProvider) NewPort(trainers Links, specs []tensor.BucketSpec, _ bool) (Port, error) {
	return newSharedPort(trainers, specs)
}

// GroupPeers lists all others, whose memory each member maps.
func (sharedProvider) GroupPeers(position, size int) []int {
	var peers []int
	for i := range size {
		if i != position {
			peers = append(peers, i)
		}
	}
	return peers
}

// NewGroup joins a group whose members work in each other's memory.
func (sharedProvider) NewGroup(members Links, position int, store *Store) (GroupLink, error) {
	return newSharedGroup(members, position, store)
}

// NewTableLink joins a server that works in the trainer's store.
func (sharedProvider) NewTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) (TableLink, error) {
	if err := store.CheckPlace(table); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s cannot join %s: %w", conn.Self(), conn.Peer(), err)
	}
	return newSharedTableLink(conn, store, table, timeout)
}

// NewTablePort makes a port that works in the trainers' stores.
func (sharedProvider) NewTablePort(trainers Links, spec LookupSpec, table int) (TablePort, error) {
	if err := spec.CheckPlace(table); err != nil {
		_ = trainers.Close()
		return nil, fmt.Errorf("%s: %w", trainers.Self, err)
	}
	return newSharedTablePort(trainers, spec, table)
}
