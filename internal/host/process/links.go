package process

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Purposes of links. A hello names the purpose of its link.
const (
	PurposePush      = "push"      // a hook process to its server
	purposeTogether  = "together"  // a process to others on its host that push with it
	PurposeTables    = "tables"    // a trainer to the server of a table
	PurposeGroup     = "group"     // a ring of trainers
	purposeDefault   = "default"   // the second ring
	PurposeBatches   = "batches"   // a trainer to the data process
	PurposeCompanion = "companion" // a trainer to a companion
	PurposePart      = "part"      // a host to a companion that speaks the protocol
	purposeRound     = "round %d"  // the ring of a round of a traffic plan
)

// Dial connects to a process that accepts links for this purpose. The process closes connections of
// Dial and Accept at its own end at the latest.
func (p *Process) Dial(to Peer, purpose string) (*wire.Conn, error) {
	return p.owned(p.dial(to, purpose))
}

// DialDirect is like Dial, for a Unix socket whose reads poll for the duration look before they
// sleep; see wire.Conn.Direct.
func (p *Process) DialDirect(to Peer, purpose string, look time.Duration) (*wire.Conn, error) {
	conn, err := p.dial(to, purpose)
	if err == nil {
		if err = conn.Direct(look); err != nil {
			_ = conn.Close()
		}
	}
	return p.owned(conn, err)
}

func (p *Process) dial(to Peer, purpose string) (*wire.Conn, error) {
	network, _ := p.over(to)
	return network.Dial(to.Address, wire.Call{
		From: p.Name(), To: to.Name, Purpose: purpose, Secret: p.config.Secret, Timeout: p.Timeout,
	})
}

// Accept waits until a process connects for this purpose.
func (p *Process) Accept(from Peer, purpose string) (*wire.Conn, error) {
	_, listener := p.over(from)
	return p.owned(listener.Accept(purpose, from.Name, p.Timeout))
}

func (p *Process) owned(conn *wire.Conn, err error) (*wire.Conn, error) {
	if err == nil {
		p.Own(conn)
	}
	return conn, err
}

// over returns the network and listener for a link with a peer, whichever side dials. The peer's
// address decides: a Unix socket belongs to this host, and any other address to the network of the
// run's fabric.
func (p *Process) over(peer Peer) (*wire.Network, *wire.Listener) {
	if wire.Unix.Has(peer.Address) {
		return wire.Unix, p.listener
	}
	return p.Fabric.Network, p.linkListener
}

// Joined returns connections of this process in the form that a port or a group needs.
func (p *Process) Joined(conns []*wire.Conn) wire.Links {
	return wire.Links{Self: p.Name(), Conns: conns, Timeout: p.Timeout}
}

// JoinLinks connects the links that carry the hook's buckets. JoinLinks runs in the process that
// holds the hook. store holds the rank's buckets, which may lie in device memory. If the process has
// a keeper, the keeper keeps slices of the links' exchanges. If a traffic plan pushes, the server takes
// only its payloads, over the link of LayTraffic.
func (p *Process) JoinLinks(links HookLinks, store *comm.Store) (joined sdk.Links, err error) {
	if traffic.PushRounds(links.Traffic) > 0 {
		links.Server, joined.Server = nil, payloadsOnly{}
	}
	over := p.Fabric
	if device, ok := p.Engine.(comm.Device); ok && store.Lent != nil {
		over = over.On(device)
	}
	if links.Server != nil {
		if joined.Server, err = p.joinServer(over, links, store); err != nil {
			return joined, err
		}
	}
	if links.Group != nil {
		if joined.Group, err = p.JoinGroup(over, *links.Group, store, PurposeGroup); err != nil {
			return joined, err
		}
	}
	if links.Default != nil {
		if joined.Default, err = p.JoinGroup(over, *links.Default, store, purposeDefault); err != nil {
			return joined, err
		}
	}
	return p.Keeper.Links(joined, store.Specs()), nil
}

// payloadsOnly is the server link of a hook whose plan pushes.
type payloadsOnly struct{}

// PushPull implements comm.PushPuller.
func (payloadsOnly) PushPull(_ int64, b *tensor.Bucket) *comm.Future {
	return comm.Completed(fmt.Errorf("the server takes the payloads that the hook has planned, not bucket %d", b.Index))
}

// joinServer connects to a server. This process pushes store's buckets to the server.
func (p *Process) joinServer(over *fabric.Fabric, links HookLinks, store *comm.Store) (comm.ServerLink, error) {
	if links.Together != nil {
		return p.joinTogether(over, links, store)
	}
	server := *links.Server
	conn, err := p.Dial(server, PurposePush)
	if err != nil {
		return nil, err
	}
	link, err := over.NewServerLink(conn, store, p.Timeout)
	if err != nil {
		return nil, err
	}
	p.Own(link)
	p.Shares("the buckets that it shares with "+server.Name, link)
	return link, nil
}

// joinTogether connects to a server as one of several trainers that push as one. Only the first of
// these trainers dials the server.
func (p *Process) joinTogether(over *fabric.Fabric, links HookLinks, store *comm.Store) (comm.ServerLink, error) {
	aggregator, ok := over.Provider.(provider.Aggregator)
	if !ok {
		return nil, fmt.Errorf("%s cannot push together with others of its host over transport %s", p.Name(), over.Name)
	}
	var server *wire.Conn
	var err error
	if links.Together.Position == 0 {
		if server, err = p.Dial(*links.Server, PurposePush); err != nil {
			return nil, err
		}
	}
	together := *links.Together
	together.Hosts = make([]int, len(together.Members)) // all members are on this host
	conns, err := p.joinMembers(over, together, purposeTogether)
	if err != nil {
		return nil, err
	}
	link, err := aggregator.NewAggregate(p.Joined(conns), together.Position, server, store)
	if err != nil {
		return nil, err
	}
	p.Own(link)
	return link, nil
}

// Shares registers a link so that its open device resources are released before the engine closes.
// The title is as in Adopt.
func (p *Process) Shares(title string, link any) {
	if shared, ok := link.(comm.DeviceLink); ok && p.config.Engine != nil {
		p.shared = append(p.shared, shared)
		p.closesEngine(title, release{shared, p.Timeout})
	}
}

// Staged returns why a link of the process copies buckets through host memory. Staged returns "" if
// all links use the buckets in the engine's memory.
func (p *Process) Staged() string {
	for _, link := range p.shared {
		if why := link.Staged(0); why != "" {
			return why
		}
	}
	return ""
}

// release is an io.Closer for the device resources that a link holds.
type release struct {
	link    comm.DeviceLink
	timeout time.Duration
}

// Close implements io.Closer.
func (r release) Close() error { return r.link.Release(r.timeout) }

// JoinTables connects to the servers of the tables in spec, in the order of spec. JoinTables
// returns nil if there are no tables.
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

// JoinGroup connects this process to a group over a fabric.
func (p *Process) JoinGroup(fabric *fabric.Fabric, g Group, store *comm.Store, purpose string) (comm.GroupLink, error) {
	if g.Hosts == nil {
		g.Hosts = make([]int, len(g.Members))
	}
	over, err := p.across(fabric, g, store)
	if err != nil {
		return nil, err
	}
	conns, err := p.joinMembers(fabric, g, purpose)
	if err != nil {
		return nil, err
	}
	group, err := over.NewGroup(p.Joined(conns), g.Hosts, g.Position, store)
	if err != nil {
		return nil, err
	}
	p.Own(group)
	p.Shares("the buckets that it shares with its group", group)
	return group, nil
}

// across returns the fabric for a group that may span devices. The fabric spans devices if buckets
// may stay in device memory.
//
// If another link of this process stages its buckets, across returns a fabric that stages the
// group's buckets too. Other members may not need to stage, but all members of the group must
// agree.
func (p *Process) across(f *fabric.Fabric, g Group, store *comm.Store) (*fabric.Fabric, error) {
	switch {
	case !g.Across || store.Lent == nil:
		return f, nil
	case p.Staged() != "":
		return f.On(nil), nil
	}
	engine, ok := p.Engine.(engine.Spanner)
	if !ok {
		return nil, fmt.Errorf("%s cannot join its group across devices: engine %s has no library that does", p.Name(),
			p.Engine.Name())
	}
	device, err := engine.Across()
	if err != nil {
		return nil, fmt.Errorf("%s cannot join its group across devices: %w: install it, or give --backend gloo",
			p.Name(), err)
	}
	return f.On(device), nil
}

// Library returns the name of the library that reduces the hook's buckets across devices, or "" if
// none does.
func (p *Process) Library() string {
	for _, link := range p.shared {
		if name := link.Library(); name != "" {
			return name
		}
	}
	return ""
}

// joinMembers connects this process to the group members that the fabric requires. The result lists
// connections by member position.
func (p *Process) joinMembers(fabric *fabric.Fabric, g Group, purpose string) ([]*wire.Conn, error) {
	if len(g.Hosts) != len(g.Members) {
		return nil, fmt.Errorf("%s was given the hosts of %d members of a group of %d", p.Name(), len(g.Hosts),
			len(g.Members))
	}
	conns := make([]*wire.Conn, len(g.Members))
	for _, i := range fabric.GroupPeers(g.Position, g.Hosts) {
		join := p.Accept
		if g.Position < i {
			join = p.Dial
		}
		var err error
		if conns[i], err = join(g.Members[i], purpose); err != nil {
			return nil, err
		}
	}
	return conns, nil
}
