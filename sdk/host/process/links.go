package process

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/proto"
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

func (st *Process) Dial(to *proto.Peer, purpose string) (*wire.Conn, error) {
	network := wire.Unix
	if overFabric(purpose) {
		network = st.Fabric.Network
	}
	return network.Dial(to.GetAddress(), wire.Call{
		From: st.Name(), To: to.GetName(), Purpose: purpose, Secret: st.Req.GetSecret(), Timeout: st.Timeout,
	})
}

func (st *Process) Accept(from *proto.Peer, purpose string) (*wire.Conn, error) {
	listener := st.listener
	if overFabric(purpose) {
		listener = st.linkListener
	}
	return listener.Accept(purpose, from.GetName(), st.Timeout)
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

// JoinLinks joins the links that the hook uses, in the process that holds it.
// store holds the rank's buckets.
func (st *Process) JoinLinks(req *proto.ConnectRequest, store *comm.Store) (sdk.HookEnv, error) {
	env := sdk.HookEnv{
		Rank: st.Rank(), Name: st.Name(), Trainers: int(st.Req.GetTrainers()),
		Recorder: st.Recorder,
	}
	var err error
	if server := req.GetServer(); server != nil {
		if env.Server, err = st.JoinServer(server, store); err != nil {
			return env, err
		}
	}
	if req.GetGroup() {
		if env.Group, err = st.JoinGroup(st.Fabric, req, store, PurposeGroup); err != nil {
			return env, err
		}
	}
	if req.GetDefaultGroup() {
		if env.Default, err = st.JoinGroup(st.Fabric, req, store, purposeDefault); err != nil {
			return env, err
		}
	}
	return env, nil
}

func (st *Process) JoinServer(server *proto.Peer, store *comm.Store) (comm.ServerLink, error) {
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

// JoinTables joins the servers of the run's tables; it gives nil where there are none.
func (st *Process) JoinTables(req *proto.ConnectRequest) (*sdk.Tables, error) {
	if req.GetLookup() == nil {
		return nil, nil
	}
	spec, servers := convert.LookupFromProto(req.GetLookup()), req.GetTableServers()
	if len(servers) != len(spec.Tables) {
		return nil, fmt.Errorf("%s was given %d servers of %d tables", st.Name(), len(servers), len(spec.Tables))
	}
	store, err := st.Fabric.NewLookupStore(st.Name(), spec)
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

func (st *Process) JoinGroup(fabric *fabric.Fabric, req *proto.ConnectRequest, store *comm.Store, purpose string) (comm.GroupLink, error) {
	peers, position := req.GetRing(), int(req.GetPosition())
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
