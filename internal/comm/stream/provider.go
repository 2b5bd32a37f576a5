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

// Provider makes links of frames, over whatever network.
type Provider struct {
	// Allocate makes their stores; nil: on the heap.
	Allocate provider.Allocate
}

// Placing implements provider.Placer.
func (p Provider) Placing(allocate provider.Allocate) provider.Provider {
	p.Allocate = allocate
	return p
}

// Maps is false.
func (Provider) Maps() bool { return false }

// NewStore allocates a store.
func (p Provider) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	if p.Allocate != nil {
		return p.Allocate(owner, specs)
	}
	return comm.NewStore(specs), nil
}

// ReserveStores has nothing to say of the heap.
func (Provider) ReserveStores([]string, []tensor.BucketSpec) error { return nil }

// SendStore sends nothing.
func (Provider) SendStore(*wire.Conn, *comm.Store) error { return nil }

// ReceiveStore allocates one of the same specs.
func (p Provider) ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error) {
	return p.NewStore(conn.Self(), specs)
}

// NewLookupStore allocates it on the heap.
func (Provider) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return comm.NewLookupStore(owner, spec)
}

// NewServerLink starts a link whose pushes are frames.
func (Provider) NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error) {
	return newLink(conn, store.Specs(), timeout), nil
}

// NewPort makes a port that reads each trainer's pushes into a store of its own; connections may be nil. Where the
// trainers keep the cores of their host busy, it hands over whole pushes.
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

// crowded says that all connections are to ranks of this host, and so many that pushes alone keep its cores copying,
// one at each end of each. Then an answer to a chunk that goes out while others come in wins nothing, and has the
// cores change between both directions.
func crowded(conns []*wire.Conn, cores int) bool {
	return 2*len(conns) > cores &&
		!slices.ContainsFunc(conns, func(c *wire.Conn) bool { return c == nil || !c.OnHost() })
}

// GroupPeers lists the two neighbours in a ring.
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

// NewTableLink joins a server by frames.
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

// frameBytes is the size in bytes of the largest batch in frames: its bags, and the
// columns of a table for them.
func frameBytes(s *comm.LookupSpec, table int) (bags, columns float64) {
	return 8 * (float64(s.Bags) + 1 + float64(s.Indices)), 4 * float64(s.Bags) * float64(s.Tables[table].Width)
}

// checkFrames reports a spec, or a place in it, whose largest batch no frame can hold.
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
