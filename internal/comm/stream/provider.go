package stream

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Provider makes links that exchange frames over any network.
type Provider struct {
	// Allocate makes the stores; if nil, they are on the heap.
	Allocate provider.Allocate
}

// Placing implements provider.Placer.
func (p Provider) Placing(allocate provider.Allocate) provider.Provider {
	p.Allocate = allocate
	return p
}

// Maps returns false.
func (Provider) Maps() bool { return false }

// NewStore allocates a store.
func (p Provider) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	if p.Allocate != nil {
		return p.Allocate(owner, specs)
	}
	return comm.NewStore(specs), nil
}

// ReserveStores does nothing, because the heap needs no reservation.
func (Provider) ReserveStores([]string, []tensor.BucketSpec) error { return nil }

// SendStore sends nothing.
func (Provider) SendStore(*wire.Conn, *comm.Store) error { return nil }

// ReceiveStore allocates a store with the same specs as the peer's.
func (p Provider) ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error) {
	return p.NewStore(conn.Self(), specs)
}

// NewLookupStore allocates a lookup store on the heap.
func (Provider) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return comm.NewLookupStore(owner, spec)
}

// NewServerLink starts a link that sends pushes as frames.
func (Provider) NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error) {
	return newLink(conn, store.Specs(), timeout), nil
}

// NewPort makes a port that reads each trainer's pushes into a separate store;
// connections may be nil. If the trainers keep the cores of their host busy,
// the port hands over whole pushes.
func (p Provider) NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error) {
	var stores []*comm.Store
	for _, conn := range trainers.Conns {
		if conn == nil {
			stores = append(stores, nil)
			continue
		}
		store, err := p.NewStore(trainers.Self+", for "+conn.Peer(), specs)
		if err != nil {
			for _, s := range stores {
				if s != nil {
					_ = s.Close()
				}
			}
			_ = trainers.Close()
			return nil, err
		}
		stores = append(stores, store)
	}
	return newPort(trainers, stores, specs, chunked && !crowded(trainers.Conns, runtime.NumCPU())), nil
}

// crowded reports whether all connections are to ranks of this host and keep
// all its cores copying, with one core at each end of a connection. In that
// case it does not help to send answers while other chunks arrive: the cores
// would only alternate between the two directions.
func crowded(conns []*wire.Conn, cores int) bool {
	return 2*len(conns) > cores &&
		!slices.ContainsFunc(conns, func(c *wire.Conn) bool { return c == nil || !c.OnHost() })
}

// GroupPeers lists the two neighbours in the ring.
func (Provider) GroupPeers(position int, hosts []int) []int {
	var peers []int
	size := len(hosts)
	for i := range size {
		if near := (i+1)%size == position || (position+1)%size == i; near && i != position {
			peers = append(peers, i)
		}
	}
	return peers
}

// NewGroup joins a ring.
func (Provider) NewGroup(members wire.Links, _ []int, position int, store *comm.Store) (comm.GroupLink, error) {
	return newRing(members, position, store.Specs()), nil
}

// NewTableLink joins a table's server over frames.
func (Provider) NewTableLink(conn *wire.Conn, store *comm.LookupStore, table int,
	timeout time.Duration) (comm.TableLink, error) {
	if err := checkFrames(&store.LookupSpec, table); err != nil {
		return nil, op.RefuseTableLink(conn, err)
	}
	return newTableLink(conn, store, table, timeout), nil
}

// NewTablePort makes a port that reads calls from its trainers' connections.
func (Provider) NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	if err := checkFrames(&spec, table); err != nil {
		return nil, op.RefuseTablePort(trainers, err)
	}
	return newTablePort(trainers, spec, table)
}

// frameBytes is the size in bytes of the largest frames of a lookup: its bags,
// and a table's columns for these bags.
func frameBytes(s *comm.LookupSpec, table int) (bags, columns float64) {
	return 8 * (float64(s.Bags) + 1 + float64(s.Indices)), 4 * float64(s.Bags) * float64(s.Tables[table].Width)
}

// checkFrames reports an invalid spec or table, or a batch that is too large
// for a frame.
func checkFrames(s *comm.LookupSpec, table int) error {
	if err := s.CheckTable(table); err != nil {
		return err
	}
	bags, columns := frameBytes(s, table)
	if largest := max(bags, columns); largest > wire.MaxPayload {
		return fmt.Errorf(
			"a batch of %d bags with %d indices needs a frame of %.0f bytes for table %d, more than the limit of %d",
			s.Bags, s.Indices, largest, table, uint64(wire.MaxPayload))
	}
	return nil
}
