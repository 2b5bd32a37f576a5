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
)

// Dial joins a process that accepts links for the purpose.
func (st *Process) Dial(to Peer, purpose string) (*wire.Conn, error) {
	network := wire.Unix
	if overFabric(purpose) {
		network = st.Fabric.Network
	}
	return network.Dial(to.Address, wire.Call{
		From: st.Name(), To: to.Name, Purpose: purpose, Secret: st.config.Secret, Timeout: st.Timeout,
	})
}

// Accept waits until a process joins for the purpose.
func (st *Process) Accept(from Peer, purpose string) (*wire.Conn, error) {
	listener := st.listener
	if overFabric(purpose) {
		listener = st.linkListener
	}
	return listener.Accept(purpose, from.Name, st.Timeout)
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
func (st *Process) Joined(conns []*wire.Conn) wire.Links {
	return wire.Links{Self: st.Name(), Conns: conns, Timeout: st.Timeout}
}

// JoinLinks joins the links that the hook uses, in the process that holds it, and gives
// what the hook knows of its run, which has so many trainers. store holds the rank's buckets.
func (st *Process) JoinLinks(links HookLinks, trainers int, store *comm.Store) (sdk.HookEnv, error) {
	env := sdk.HookEnv{Rank: st.Rank(), Name: st.Name(), Trainers: trainers, Recorder: st.Recorder}
	var err error
	if links.Server != nil {
		if env.Server, err = st.JoinServer(*links.Server, store); err != nil {
			return env, err
		}
	}
	if links.Group != nil {
		if env.Group, err = st.JoinGroup(st.Fabric, *links.Group, store, PurposeGroup); err != nil {
			return env, err
		}
	}
	if links.Default != nil {
		if env.Default, err = st.JoinGroup(st.Fabric, *links.Default, store, purposeDefault); err != nil {
			return env, err
		}
	}
	return env, nil
}

// JoinServer joins a server, which this process pushes store's buckets to.
func (st *Process) JoinServer(server Peer, store *comm.Store) (comm.ServerLink, error) {
	conn, err := st.Dial(server, PurposePush)
	if err != nil {
		return nil, err
	}
	link, err := st.Fabric.NewServerLink(conn, store, st.Timeout)
	if err != nil {
		return nil, err
	}
	st.Own(link)
	return link, nil
}

// JoinTables joins the servers of the tables that spec lists, in their order; it gives nil
// where there are none.
func (st *Process) JoinTables(spec *comm.LookupSpec, servers []Peer) (*sdk.Tables, error) {
	if spec == nil {
		return nil, nil
	}
	if len(servers) != len(spec.Tables) {
		return nil, fmt.Errorf("%s was given %d servers of %d tables", st.Name(), len(servers), len(spec.Tables))
	}
	store, err := st.Fabric.NewLookupStore(st.Name(), *spec)
	if err != nil {
		return nil, err
	}
	st.Own(store)
	tables := &sdk.Tables{Store: store}
	for i, server := range servers {
		conn, err := st.Dial(server, PurposeTables)
		if err != nil {
			return nil, err
		}
		link, err := st.Fabric.NewTableLink(conn, store, i, st.Timeout)
		if err != nil {
			return nil, err
		}
		st.Own(link)
		tables.Links = append(tables.Links, link)
	}
	return tables, nil
}

// JoinGroup joins a group over a fabric.
func (st *Process) JoinGroup(fabric *fabric.Fabric, g Group, store *comm.Store, purpose string) (comm.GroupLink, error) {
	peers, position := g.Members, g.Position
	conns := make([]*wire.Conn, len(peers))
	for _, i := range fabric.GroupPeers(position, len(peers)) {
		join := st.Accept
		if position < i {
			join = st.Dial
		}
		var err error
		if conns[i], err = join(peers[i], purpose); err != nil {
			return nil, err
		}
	}
	group, err := fabric.NewGroup(st.Joined(conns), position, store)
	if err != nil {
		return nil, err
	}
	st.Own(group)
	return group, nil
}
