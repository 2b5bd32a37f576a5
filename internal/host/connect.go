package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/bench"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/data"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/table"
	"github.com/psbench/psbench/internal/host/trainer"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// Connect connects the links of the process. Afterwards the process accepts no more links.
func (p *service) Connect(_ context.Context, req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	r, leave, err := as[role](p, "connect")
	if err != nil {
		return nil, err
	}
	defer leave()
	reply, err := connect(r, req)
	if err == nil {
		p.stopListening()
	}
	return reply, p.status(err)
}

func (p *service) stopListening() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		p.process.StopListening()
	}
}

// connect makes a role connect its links.
func connect(r role, req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	var facts map[string]string
	var err error
	switch r := r.(type) {
	case *trainer.Role:
		return connectTrainer(r, req.GetTrainer())
	case *server.Role:
		facts, err = r.Connect(serverPeers(req.GetServer()))
	case *table.Role:
		q := req.GetTable()
		if q.GetLookup() == nil {
			return nil, errors.New("a server of a table was connected without the sizes of its lookups")
		}
		facts, err = r.Connect(*convert.LookupFromProto(q.GetLookup()), peersOf(q.GetTrainers()))
	case *data.Role:
		facts, err = r.Connect(peersOf(req.GetData().GetTrainers()))
	case *companion.HookRole:
		q := req.GetCompanion()
		facts, err = r.Connect(companion.HookPeers{
			Trainer: convert.PeerFromProto(q.GetTrainer()), Buckets: convert.BucketsFromProto(q.GetBuckets()),
			Links: hookLinks(q.GetHook()),
		})
	case *companion.CriterionRole:
		facts, err = r.Connect(convert.PeerFromProto(req.GetCompanion().GetTrainer()))
	case *companion.ModelRole:
		q := req.GetCompanion()
		facts, err = r.Connect(convert.PeerFromProto(q.GetTrainer()), convert.BucketsFromProto(q.GetBuckets()))
	case *bench.Role:
		err = r.Connect(benchPeers(req.GetBench()))
	default:
		err = fmt.Errorf("a %T joins no links", r)
	}
	if err != nil {
		return nil, err
	}
	return &proto.ConnectReply{Facts: facts, BoundaryNs: boundaries(r)}, nil
}

// boundaries returns the median round trip, in ns, of a no-op call to the role's companion, if
// there is one.
func boundaries(r role) map[string]int64 {
	kind, ns := sdk.KindServer, int64(0)
	switch r := r.(type) {
	case *server.Role:
		ns = r.BoundaryNS()
	case *data.Role:
		kind, ns = sdk.KindData, r.BoundaryNS()
	}
	if ns == 0 {
		return nil
	}
	return map[string]int64{string(kind): ns}
}

func connectTrainer(r *trainer.Role, q *proto.TrainerLinks) (*proto.ConnectReply, error) {
	joined, err := r.Connect(trainerPeers(q))
	if err != nil {
		return nil, err
	}
	reply := &proto.ConnectReply{Facts: joined.Facts, BoundaryNs: map[string]int64{}}
	for kind, ns := range joined.BoundaryNS {
		reply.BoundaryNs[string(kind)] = ns
	}
	return reply, nil
}

func trainerPeers(q *proto.TrainerLinks) trainer.Peers {
	peers := trainer.Peers{
		Buckets: convert.BucketsFromProto(q.GetBuckets()), Model: convert.ModelFromProto(q.GetModel()),
		Source: batches.Source{Data: convert.PeerFromProto(q.GetData()),
			Share: convert.ShareFromProto(q.GetShare()), Streamed: q.GetStreamed()},
		Hook:       hookLinks(q.GetHook()),
		Companions: map[sdk.Kind]process.Peer{},
		Lookup:     convert.LookupFromProto(q.GetLookup()), TableServers: peersOf(q.GetTableServers()),
	}
	for kind, peer := range q.GetCompanions() {
		peers.Companions[sdk.Kind(kind)] = convert.PeerFromProto(peer)
	}
	return peers
}

func serverPeers(q *proto.ServerLinks) server.Peers {
	return server.Peers{Buckets: convert.BucketsFromProto(q.GetBuckets()), Trainers: peersOf(q.GetTrainers()),
		PushedFor: int(q.GetPushedFor()), Part: convert.PeerFromProto(q.GetCompanion())}
}

func benchPeers(q *proto.BenchLinks) bench.Peers {
	return bench.Peers{
		Buckets: convert.BucketsFromProto(q.GetBuckets()), Server: peerOrNil(q.GetServer()),
		Group: groupOrNil(q.GetGroup()), Default: groupOrNil(q.GetDefault()), Sync: group(q.GetSync()),
		Together: groupOrNil(q.GetTogether()), Part: convert.PeerFromProto(q.GetCompanion()),
		Asked: peerOrNil(q.GetAsked()), Traffic: convert.TrafficFromProto(q.GetTraffic()),
	}
}

// peerOrNil is like PeerFromProto for a peer that may be missing.
func peerOrNil(p *proto.Peer) *process.Peer {
	if p == nil {
		return nil
	}
	return new(convert.PeerFromProto(p))
}

// peersOf converts several peers, in order.
func peersOf(list []*proto.Peer) []process.Peer {
	var out []process.Peer
	for _, p := range list {
		out = append(out, convert.PeerFromProto(p))
	}
	return out
}

// group converts the members of a collective from a gRPC message.
func group(g *proto.Group) process.Group {
	of := process.Group{Members: peersOf(g.GetMembers()), Position: int(g.GetPosition()), Across: g.GetAcrossDevices()}
	for _, host := range g.GetHosts() {
		of.Hosts = append(of.Hosts, int(host))
	}
	return of
}

// groupOrNil is like group for a group that may be missing.
func groupOrNil(g *proto.Group) *process.Group {
	if g == nil {
		return nil
	}
	return new(group(g))
}

// hookLinks converts the links of a hook from a gRPC message.
func hookLinks(l *proto.HookLinks) process.HookLinks {
	return process.HookLinks{Server: peerOrNil(l.GetServer()), Group: groupOrNil(l.GetGroup()),
		Default: groupOrNil(l.GetDefault()), Together: groupOrNil(l.GetTogether()),
		Traffic: convert.TrafficFromProto(l.GetTraffic())}
}
