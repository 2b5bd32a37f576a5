package sdk

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// Purposes of a link; a hello names one.
const (
	purposePush      = "push"      // a hook process to its server
	purposeTables    = "tables"    // a trainer to the server of a table
	purposeGroup     = "group"     // a ring of trainers
	purposeDefault   = "default"   // the second ring
	purposeBatches   = "batches"   // a trainer to the data process
	purposeCompanion = "companion" // a trainer to a companion
)

func (st *station) dial(to *proto.Peer, purpose string) (*comm.Conn, error) {
	return comm.Dial(to.GetAddress(), st.name(), to.GetName(), purpose, st.req.GetSecret(), st.timeout)
}

func (st *station) accept(from *proto.Peer, purpose string) (*comm.Conn, error) {
	listener := st.listener
	switch purpose {
	case purposePush, purposeTables, purposeGroup, purposeDefault:
		listener = st.linkListener
	}
	return listener.Accept(purpose, from.GetName(), st.timeout)
}

// joinLinks joins the links that the hook uses, in the process that holds it.
// store holds the rank's buckets.
func (st *station) joinLinks(req *proto.ConnectRequest, store *comm.Store) (HookEnv, error) {
	env := HookEnv{
		Rank: st.rank(), Name: st.name(), Trainers: int(st.req.GetTrainers()),
		Recorder: st.recorder,
	}
	var err error
	if server := req.GetServer(); server != nil {
		if env.Server, err = st.joinServer(server, store); err != nil {
			return env, err
		}
	}
	if req.GetGroup() {
		if env.Group, err = st.joinGroup(st.transport(), req, store, purposeGroup); err != nil {
			return env, err
		}
	}
	if req.GetDefaultGroup() {
		if env.Default, err = st.joinGroup(st.transport(), req, store, purposeDefault); err != nil {
			return env, err
		}
	}
	return env, nil
}

func (st *station) joinServer(server *proto.Peer, store *comm.Store) (comm.ServerLink, error) {
	conn, err := st.dial(server, purposePush)
	if err != nil {
		return nil, err
	}
	link, err := comm.NewServerLink(st.transport(), conn, store, st.timeout)
	if err != nil {
		return nil, err
	}
	st.own(link)
	return link, nil
}

// joinTables joins the servers of the run's tables; it gives nil where there are none.
func (st *station) joinTables(req *proto.ConnectRequest) (*Tables, error) {
	if req.GetLookup() == nil {
		return nil, nil
	}
	spec, servers := lookupFromProto(req.GetLookup()), req.GetTableServers()
	if len(servers) != len(spec.Tables) {
		return nil, fmt.Errorf("%s was given %d servers of %d tables", st.name(), len(servers), len(spec.Tables))
	}
	store, err := comm.NewLookupStore(st.transport(), st.name(), spec)
	if err != nil {
		return nil, err
	}
	st.own(store)
	tables := &Tables{Store: store}
	for i, server := range servers {
		conn, err := st.dial(server, purposeTables)
		if err != nil {
			return nil, err
		}
		link, err := comm.NewTableLink(st.transport(), conn, store, i, st.timeout)
		if err != nil {
			return nil, err
		}
		st.own(link)
		tables.Links = append(tables.Links, link)
	}
	return tables, nil
}

func (st *station) joinGroup(t comm.Transport, req *proto.ConnectRequest, store *comm.Store, purpose string) (comm.GroupLink, error) {
	peers, position := req.GetRing(), int(req.GetPosition())
	conns := make([]*comm.Conn, len(peers))
	for _, i := range comm.GroupPeers(t, position, len(peers)) {
		join := st.accept
		if position < i {
			join = st.dial
		}
		var err error
		if conns[i], err = join(peers[i], purpose); err != nil {
			return nil, err
		}
	}
	group, err := comm.NewGroup(t, st.name(), position, conns, store, st.timeout)
	if err != nil {
		return nil, err
	}
	st.own(group)
	return group, nil
}
