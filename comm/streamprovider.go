package comm

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// streamProvider makes links of frames, over whatever network.
type streamProvider struct{}

// Maps is false.
func (streamProvider) Maps() bool { return false }

// NewStore allocates a store on the heap.
func (streamProvider) NewStore(_ string, specs []tensor.BucketSpec) (*Store, error) {
	return NewStore(specs), nil
}

// ReserveStores has nothing to say of the heap.
func (streamProvider) ReserveStores([]string, []tensor.BucketSpec) error { return nil }

// SendStore sends nothing.
func (streamProvider) SendStore(*Conn, *Store) error { return nil }

// ReceiveStore allocates one of the same specs.
func (streamProvider) ReceiveStore(_ *Conn, specs []tensor.BucketSpec) (*Store, error) {
	return NewStore(specs), nil
}

// NewLookupStore allocates it on the heap.
func (streamProvider) NewLookupStore(owner string, spec LookupSpec) (*LookupStore, error) {
	return NewLookupStore(owner, spec)
}

// NewServerLink starts a link whose pushes are frames.
func (streamProvider) NewServerLink(conn *Conn, store *Store, timeout time.Duration) (ServerLink, error) {
	return NewStreamLink(conn, store.Specs(), timeout), nil
}

// NewPort makes a port that reads pushes from its trainers' connections.
func (streamProvider) NewPort(trainers Links, specs []tensor.BucketSpec, chunked bool) (Port, error) {
	return NewStreamPort(trainers, specs, chunked), nil
}

// GroupPeers lists the two neighbours in a ring.
func (streamProvider) GroupPeers(position, size int) []int {
	var peers []int
	for i := range size {
		if near := (i+1)%size == position || (position+1)%size == i; near && i != position {
			peers = append(peers, i)
		}
	}
	return peers
}

// NewGroup joins a ring.
func (streamProvider) NewGroup(members Links, position int, store *Store) (GroupLink, error) {
	return NewRing(members, position, store.Specs()), nil
}

// NewTableLink joins a server by frames.
func (streamProvider) NewTableLink(conn *Conn, store *LookupStore, table int, timeout time.Duration) (TableLink, error) {
	if err := checkFrames(&store.LookupSpec, table); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s cannot join %s: %w", conn.Self(), conn.Peer(), err)
	}
	return newStreamTableLink(conn, store, table, timeout), nil
}

// NewTablePort makes a port that reads calls from its trainers' connections.
func (streamProvider) NewTablePort(trainers Links, spec LookupSpec, table int) (TablePort, error) {
	if err := checkFrames(&spec, table); err != nil {
		_ = trainers.Close()
		return nil, fmt.Errorf("%s: %w", trainers.Self, err)
	}
	return newStreamTablePort(trainers, spec, table)
}

// frameBytes is the size in bytes of the largest batch in frames: its bags, and the
// columns of a table for them.
func frameBytes(s *LookupSpec, table int) (bags, columns float64) {
	return 8 * (float64(s.Bags) + 1 + float64(s.Indices)), 4 * float64(s.Bags) * float64(s.Tables[table].Width)
}

// checkFrames reports a spec, or a place in it, whose largest batch no frame can hold.
func checkFrames(s *LookupSpec, table int) error {
	if err := s.CheckPlace(table); err != nil {
		return err
	}
	bags, columns := frameBytes(s, table)
	if largest := max(bags, columns); largest > MaxPayload {
		return fmt.Errorf("a batch of %d bags with %d indices needs a frame of %.0f bytes for table %d, more than the limit of %d", s.Bags, s.Indices, largest, table, uint64(MaxPayload))
	}
	return nil
}
