// Package mixed uses shared memory for connections within a host and frames for
// connections between hosts. The connection alone decides: a Unix socket joins
// processes of one host. Ports and groups combine both kinds of links.
package mixed

import (
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/shared"
	"github.com/psbench/psbench/internal/comm/shared/group"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Provider combines the providers of links within a host and between hosts. All
// stores are in shared memory; links to other hosts send directly from them.
type Provider struct {
	within  shared.Provider
	between stream.Provider
}

// Placing implements provider.Placer. allocate makes the stores for trainers on
// other hosts.
func (p Provider) Placing(allocate provider.Allocate) provider.Provider {
	p.between.Allocate = allocate
	return p
}

// Maps implements provider.Provider. Maps describes the ranks of one host.
func (p Provider) Maps() bool { return p.within.Maps() }

// NewStore allocates a store that the other ranks of the host can map.
func (p Provider) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	return p.within.NewStore(owner, specs)
}

// ReserveStores compares the stores' size with the available memory.
func (p Provider) ReserveStores(owners []string, specs []tensor.BucketSpec) error {
	return p.within.ReserveStores(owners, specs)
}

// NewLookupStore allocates a store that the servers of the host can map.
func (p Provider) NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	return p.within.NewLookupStore(owner, spec)
}

// ReceiveStore maps the store of a peer on this host. For a peer on another
// host it allocates a store like the peer's.
func (p Provider) ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec) (*comm.Store, error) {
	if conn.PassesSegments() {
		return p.within.ReceiveStore(conn, specs)
	}
	return p.between.ReceiveStore(conn, specs)
}

// SendStore passes the store's segment to a peer on this host.
func (p Provider) SendStore(conn *wire.Conn, store *comm.Store) error {
	if conn.PassesSegments() {
		return p.within.SendStore(conn, store)
	}
	return p.between.SendStore(conn, store)
}

// NewServerLink starts a link through shared memory or over frames, as the
// connection allows.
func (p Provider) NewServerLink(conn *wire.Conn, store *comm.Store, timeout time.Duration) (comm.ServerLink, error) {
	if conn.PassesSegments() {
		return p.within.NewServerLink(conn, store, timeout)
	}
	return p.between.NewServerLink(conn, store, timeout)
}

// NewTableLink joins a server through shared memory or over frames, as the
// connection allows.
func (p Provider) NewTableLink(
	conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration,
) (comm.TableLink, error) {
	if conn.PassesSegments() {
		return p.within.NewTableLink(conn, store, table, timeout)
	}
	return p.between.NewTableLink(conn, store, table, timeout)
}

// GroupPeers lists the other members of the host and, for a member of a rail, its neighbours on the rail.
func (Provider) GroupPeers(position int, on []int) []int {
	at := hosts.Of(on, position)
	return at.Peers()
}

// NewGroup joins a group. If there are several hosts and one of them has
// several members, the group is hierarchical: see group.Relay.
func (p Provider) NewGroup(members wire.Links, on []int, position int, store *comm.Store) (comm.GroupLink, error) {
	at := hosts.Of(on, position)
	switch len(at.Members) {
	case 1:
		return p.within.NewGroup(members, on, position, store)
	case at.Size:
		return p.between.NewGroup(members, on, position, store)
	}
	var relay group.Relay
	if at.OnRail() {
		relay = stream.NewRelay(some(members, at.Rail()), at, store.Specs())
	}
	return p.within.NewGroupAcross(some(members, at.Here()), at, store, relay)
}

// some returns the links at these positions.
func some(of wire.Links, positions []int) wire.Links {
	links := wire.Links{Self: of.Self, Timeout: of.Timeout}
	for _, i := range positions {
		links.Conns = append(links.Conns, of.Conns[i])
	}
	return links
}

// split divides a port's links into those within the host and those between
// hosts. Both results keep the positions and have nil in place of the other
// links.
func split(all wire.Links) (within, between wire.Links) {
	within, between = all, all
	within.Conns, between.Conns = make([]*wire.Conn, len(all.Conns)), make([]*wire.Conn, len(all.Conns))
	for i, conn := range all.Conns {
		if conn.PassesSegments() {
			within.Conns[i] = conn
		} else {
			between.Conns[i] = conn
		}
	}
	return within, between
}

// NewPort makes a port for the trainers. If some trainers are on this host and
// some are not, the port combines one port of each kind.
func (p Provider) NewPort(trainers wire.Links, specs []tensor.BucketSpec, chunked bool) (comm.Port, error) {
	within, between := split(trainers)
	switch {
	case !anyOf(between):
		return p.within.NewPort(trainers, specs, chunked)
	case !anyOf(within):
		return p.between.NewPort(trainers, specs, chunked)
	}
	here, err := p.within.NewPortBeside(within, specs, chunked)
	if err != nil {
		_ = between.Close()
		return nil, err
	}
	there, err := p.between.NewPort(between, specs, chunked)
	if err != nil {
		_ = here.Close()
		return nil, err
	}
	j := &port{ports: ports[comm.Port]{within: here, between: there}}
	for _, conn := range within.Conns {
		j.here = append(j.here, conn != nil)
	}
	return j, nil
}

// NewTablePort is NewPort for a table's server.
func (p Provider) NewTablePort(trainers wire.Links, spec comm.LookupSpec, table int) (comm.TablePort, error) {
	within, between := split(trainers)
	switch {
	case !anyOf(between):
		return p.within.NewTablePort(trainers, spec, table)
	case !anyOf(within):
		return p.between.NewTablePort(trainers, spec, table)
	}
	here, err := p.within.NewTablePort(within, spec, table)
	if err != nil {
		_ = between.Close()
		return nil, err
	}
	there, err := p.between.NewTablePort(between, spec, table)
	if err != nil {
		_ = here.Close()
		return nil, err
	}
	return &tablePort{ports: ports[comm.TablePort]{within: here, between: there}}, nil
}

func anyOf(links wire.Links) bool {
	for _, conn := range links.Conns {
		if conn != nil {
			return true
		}
	}
	return false
}
