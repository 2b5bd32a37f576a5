package process

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
)

// Purposes of a link; a hello names one.
const (
	PurposePush      = "push"      // a hook process to its server
	PurposeTables    = "tables"    // a trainer to the server of a table
	PurposeGroup     = "group"     // a ring of trainers
	purposeDefault   = "default"   // the second ring
	PurposeBatches   = "batches"   // a trainer to the data process
	PurposeCompanion = "companion" // a trainer to a companion
	PurposePart      = "part"      // a host to a companion that speaks the protocol
)

// Dial joins a process that accepts links for the purpose. The connection ends with this
// process at the latest, as that of Accept does.
func (p *Process) Dial(to Peer, purpose string) (*wire.Conn, error) {
	network := wire.Unix
	if overFabric(purpose) {
		network = p.Fabric.Network
	}
	return p.owned(network.Dial(to.Address, wire.Call{
		From: p.Name(), To: to.Name, Purpose: purpose, Secret: p.config.Secret, Timeout: p.Timeout,
	}))
}

// Accept waits until a process joins for the purpose.
func (p *Process) Accept(from Peer, purpose string) (*wire.Conn, error) {
	listener := p.listener
	if overFabric(purpose) {
		listener = p.linkListener
	}
	return p.owned(listener.Accept(purpose, from.Name, p.Timeout))
}

func (p *Process) owned(conn *wire.Conn, err error) (*wire.Conn, error) {
	if err == nil {
		p.Own(conn)
	}
	return conn, err
}

// overFabric says that links for this purpose come over the run's fabric; the others join
// processes of one host.
func overFabric(purpose string) bool {
	switch purpose {
	case PurposePush, PurposeTables, PurposeGroup, purposeDefault:
		return true
	}
	return false
}

// Joined are connections of this process that a port or a group joins.
func (p *Process) Joined(conns []*wire.Conn) wire.Links {
	return wire.Links{Self: p.Name(), Conns: conns, Timeout: p.Timeout}
}

// JoinLinks joins the links that the hook uses, in the process that holds it. store holds the
// rank's buckets. What they exchange is kept where the process has a keeper.
func (p *Process) JoinLinks(links HookLinks, store *comm.Store) (joined sdk.Links, err error) {
	if links.Server != nil {
		if joined.Server, err = p.JoinServer(*links.Server, store); err != nil {
			return joined, err
		}
	}
	if links.Group != nil {
		if joined.Group, err = p.JoinGroup(p.Fabric, *links.Group, store, PurposeGroup); err != nil {
			return joined, err
		}
	}
	if links.Default != nil {
		if joined.Default, err = p.JoinGroup(p.Fabric, *links.Default, store, purposeDefault); err != nil {
			return joined, err
		}
	}
	return p.Keeper.Links(joined, store.Specs()), nil
}

// JoinServer joins a server, which this process pushes store's buckets to.
func (p *Process) JoinServer(server Peer, store *comm.Store) (comm.ServerLink, error) {
	conn, err := p.Dial(server, PurposePush)
	if err != nil {
		return nil, err
	}
	link, err := p.Fabric.NewServerLink(conn, store, p.Timeout)
	if err != nil {
		return nil, err
	}
	p.Own(link)
	return link, nil
}

// JoinTables joins the servers of the tables that spec lists, in their order; it gives nil
// where there are none.
func (p *Process) JoinTables(spec *comm.LookupSpec, servers []Peer) (*sdk.Tables, error) {
	if spec == nil {
		return nil, nil
	}
	if len(servers) != len(spec.Tables) {
		return nil, fmt.Errorf("%s was given %d servers of %d tables", p.Name(), len(servers), len(spec.Tables))
	}
	store, err := p.Fabric.NewLookupStore(p.Name(), *spec)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(store)
	tables := &sdk.Tables{Store: store}
	for i, server := range servers {
		conn, err := p.Dial(server, PurposeTables)
		if err != nil {
			return nil, err
		}
		link, err := p.Fabric.NewTableLink(conn, store, i, p.Timeout)
		if err != nil {
			return nil, err
		}
		p.Own(link)
		tables.Links = append(tables.Links, link)
	}
	return tables, nil
}

// JoinGroup joins a group over a fabric.
func (p *Process) JoinGroup(fabric *fabric.Fabric, g Group, store *comm.Store, purpose string) (comm.GroupLink, error) {
	peers, position := g.Members, g.Position
	conns := make([]*wire.Conn, len(peers))
	for _, i := range fabric.GroupPeers(position, len(peers)) {
		join := p.Accept
		if position < i {
			join = p.Dial
		}
		var err error
		if conns[i], err = join(peers[i], purpose); err != nil {
			return nil, err
		}
	}
	group, err := fabric.NewGroup(p.Joined(conns), position, store)
	if err != nil {
		return nil, err
	}
	p.Own(group)
	return group, nil
}
