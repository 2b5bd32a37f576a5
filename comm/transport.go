package comm

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// Transport is what carries the gradients of a run.
type Transport string

// The transports. Shm needs all ranks on one host: a push is a bell, and nothing
// is copied. The others carry frames.
const (
	Shm  Transport = "shm"
	Unix Transport = "unix"
	TCP  Transport = "tcp"
	GRPC Transport = "grpc"
)

// Transports lists all transports, the fastest first.
var Transports = []Transport{Shm, Unix, TCP, GRPC}

// CheckTransport reports whether name is that of a transport.
func CheckTransport(name string) error {
	if !slices.Contains(Transports, Transport(name)) {
		return fmt.Errorf("there is no transport %q: it is one of %v", name, Transports)
	}
	return nil
}

// NewServerLink starts a trainer's link to its server over conn, which it owns
// from now on. The buckets of store may be pushed; on Shm those whose gradient
// lies in the store go in place, others are copied. Each push must be answered
// within timeout.
func NewServerLink(t Transport, conn *Conn, store *Store, timeout time.Duration) (ServerLink, error) {
	if t == Shm {
		return newSharedLink(conn, store, timeout)
	}
	return NewStreamLink(conn, store.Specs(), timeout), nil
}

// NewPort makes the port of the server named self. conns[i] is the link of its
// trainer i; the port owns the connections from now on. With chunked set, the
// port may hand over a dense push chunk by chunk, see Arrival. An answer must be
// accepted by its trainer within timeout.
func NewPort(t Transport, self string, conns []*Conn, specs []tensor.BucketSpec, chunked bool, timeout time.Duration) (Port, error) {
	if t == Shm {
		return newSharedPort(self, conns, specs, timeout)
	}
	return NewStreamPort(self, conns, specs, chunked, timeout), nil
}

// NewGroup joins the member named self at the given position of a group.
// conns[i] links it to member i, for each i of GroupPeers; the group owns them
// from now on. All members must agree on the store's specs. An operation must
// end within timeout of its start.
func NewGroup(t Transport, self string, position int, conns []*Conn, store *Store, timeout time.Duration) (GroupLink, error) {
	if t == Shm {
		return newSharedGroup(self, position, conns, store, timeout)
	}
	size := len(conns)
	return NewRing(self, position, size, conns[(position+1)%size], conns[(position+size-1)%size], store.Specs(), timeout), nil
}

// GroupPeers lists the positions with which the member at position of a group of
// this size needs a connection: all others on Shm, its two neighbours in a ring
// elsewhere. The lower position of a pair dials.
func GroupPeers(t Transport, position, size int) []int {
	var peers []int
	for i := range size {
		near := (i+1)%size == position || (position+1)%size == i
		if i != position && (near || t == Shm) {
			peers = append(peers, i)
		}
	}
	return peers
}
