package micro

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/proto"
)

// ranks are the processes of one transport. Those of the transports that have no
// turn sleep.
type ranks struct {
	fabric   *fabric.Fabric
	trainers []*process
	servers  []*process // none without push-pull
	round    int64      // number of the next round: batches of a bucket rise
}

// process is one of them.
type process struct {
	*cluster.Member
	ranks *ranks
	rank  int
	part  *proto.PartChoice // nil of those that measure
}

// newRanks lays them out. With several transports the names of their processes say which
// one it is: trainer0.unix.
func (p *Plan) newRanks(f *fabric.Fabric) *ranks {
	r := &ranks{fabric: f}
	suffix := ""
	if len(p.Fabrics) > 1 {
		suffix = "." + f.Name
	}
	newProcess := func(rank int, plugin registry.Plugin, part *proto.PartChoice) *process {
		q := &process{Member: &cluster.Member{Name: p.World.Name(rank) + suffix, Plugin: plugin}, ranks: r, rank: rank, part: part}
		q.Env = q.environment
		return q
	}
	for _, rank := range p.World.TrainerRanks() {
		r.trainers = append(r.trainers, newProcess(rank, registry.Plugin{Name: registry.Builtin}, nil))
	}
	if !p.some(served) {
		return r
	}
	for _, rank := range p.World.ServerRanks() {
		part := &proto.PartChoice{Kind: string(sdk.KindServer), Key: p.Server.Key, Settings: p.Server.Settings}
		r.servers = append(r.servers, newProcess(rank, p.Server.Plugin, part))
	}
	return r
}

func (r *ranks) processes() []*process { return slices.Concat(r.trainers, r.servers) }

// environment gives each trainer its share of the cores, unless the user's GOMAXPROCS says
// otherwise.
func (p *process) environment() []string {
	if _, set := os.LookupEnv("GOMAXPROCS"); set || p.part != nil {
		return nil
	}
	return []string{"GOMAXPROCS=" + strconv.Itoa(cluster.Share(p, p.ranks.trainers))}
}

func (s *session) configureRequest(p *process) *proto.ConfigureRequest {
	req := &proto.ConfigureRequest{
		Rank: int32(p.rank), Part: p.part, // #nosec G115 -- a rank
		Transport: p.ranks.fabric.Name, Listen: s.plan.Listen,
		Role: &proto.ConfigureRequest_Bench{Bench: &proto.BenchRole{}},
	}
	if p.part != nil {
		req.Role = &proto.ConfigureRequest_Server{Server: &proto.ServerRole{}}
	}
	return req
}

func (s *session) connectRequest(p *process) *proto.ConnectRequest {
	if p.part != nil {
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Server{Server: s.serverLinks(p)}}
	}
	return &proto.ConnectRequest{Role: &proto.ConnectRequest_Bench{Bench: s.benchLinks(p)}}
}

func (s *session) serverLinks(p *process) *proto.ServerLinks {
	links := &proto.ServerLinks{Buckets: convert.BucketsToProto(s.plan.buckets())}
	for _, rank := range s.plan.World.TrainersOf(p.rank) {
		links.Trainers = append(links.Trainers, p.ranks.trainers[rank].LinkPeer())
	}
	return links
}

func (s *session) benchLinks(p *process) *proto.BenchLinks {
	w := p.ranks
	position := int32(p.rank) // #nosec G115 -- a rank
	links := &proto.BenchLinks{Buckets: convert.BucketsToProto(s.plan.buckets()), Sync: &proto.Group{Position: position}}
	if server, ok := s.plan.World.ServerOf(p.rank); ok && len(w.servers) > 0 {
		links.Server = w.servers[server-w.servers[0].rank].LinkPeer()
	}
	group := &proto.Group{Position: position}
	for _, t := range w.trainers {
		group.Members = append(group.Members, t.LinkPeer())
		links.Sync.Members = append(links.Sync.Members, t.Peer())
	}
	if s.plan.some(collective) {
		links.Group = group
	}
	return links
}

func (s *session) measureRequest(p *process, c cell, rounds int) *proto.MeasureRequest {
	req := &proto.MeasureRequest{
		Operation: c.operation.Name, Expect: expectCodes[s.plan.Expect],
		Bucket: int32(c.bucket), Rounds: int32(rounds), // #nosec G115 -- checked by Plan
		First: p.ranks.round, Fresh: c.mode == Fresh, Copy: c.place == Copied, Density: s.plan.Density,
	}
	if server, ok := s.plan.World.ServerOf(p.rank); ok {
		for _, rank := range s.plan.World.TrainersOf(server) {
			req.Partners = append(req.Partners, int32(rank)) // #nosec G115 -- a rank
		}
	}
	return req
}

// turn is some rounds of a row.
type turn struct {
	rounds      int
	latenciesUS []float64 // rank by rank
	mismatch    string
}

func newTurn(rounds int, replies []*proto.MeasureReply) (*turn, error) {
	t := &turn{rounds: rounds}
	for rank, reply := range replies {
		if n := len(reply.GetLatencyNs()); n != rounds {
			return nil, fmt.Errorf("trainer%d measured %d rounds instead of %d", rank, n, rounds)
		}
		for _, ns := range reply.GetLatencyNs() {
			t.latenciesUS = append(t.latenciesUS, float64(ns)/1e3)
		}
		if t.mismatch == "" {
			t.mismatch = reply.GetMismatch()
		}
	}
	return t, nil
}
