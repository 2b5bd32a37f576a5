package micro

import (
	"context"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func (s *session) configure(ctx context.Context) error {
	return cluster.Configure(ctx, s.cluster, s.all, s.configureRequest, func(*process, *proto.ConfigureReply) {})
}

func (s *session) configureRequest(p *process) *proto.ConfigureRequest {
	server, hook := s.plan.Server, s.plan.Hook
	serverChoice := &proto.PartChoice{Kind: string(sdk.KindServer), Key: server.Key, Settings: server.Settings}
	hookChoice := &proto.PartChoice{Kind: string(sdk.KindHook), Key: hook.Key, Settings: hook.Settings}
	req := &proto.ConfigureRequest{
		Rank:      int32(p.rank), // #nosec G115 -- a rank
		Transport: p.ranks.fabric.Name, Listen: s.plan.Listen, InsecureNetwork: s.plan.InsecureNetwork,
	}
	trainers := int32(s.plan.World.Trainers) // #nosec G115 -- a count of ranks
	switch {
	case p.host != nil:
		req.Part = hookChoice
		if p.serves {
			req.Part = serverChoice
			trainers = int32(len(s.plan.World.TrainersOf(s.plan.serverOf(p)))) // #nosec G115 -- a count of ranks
		}
		req.Role = &proto.ConfigureRequest_Companion{
			Companion: &proto.CompanionRole{Trainers: trainers, Seed: s.plan.Seed},
		}
	case p.serves:
		req.Part = serverChoice
		req.Role = &proto.ConfigureRequest_Server{
			Server: &proto.ServerRole{Asynchronous: server.Asynchronous, Protocol: p.part != nil},
		}
	default:
		role := &proto.BenchRole{Trainers: trainers, Seed: s.plan.Seed, Protocol: p.part != nil}
		if s.plan.some(hooked) {
			role.Hook = hookChoice
			for _, link := range s.plan.HookLinks.List() {
				role.Links = append(role.Links, string(link))
			}
		}
		if s.plan.asksServer() {
			req.Part = serverChoice
		}
		req.Role = &proto.ConfigureRequest_Bench{Bench: role}
	}
	return req
}

// trafficRequest asks for the traffic plan of the measured hook.
func (s *session) trafficRequest() *proto.PlanRequest {
	return &proto.PlanRequest{Buckets: convert.BucketsToProto(s.plan.buckets())}
}

func (s *session) connect(ctx context.Context) error {
	if err := s.planTraffic(ctx); err != nil {
		return err
	}
	for _, w := range s.ranks {
		s.result.Links = append(s.result.Links, w.links(s.plan)...)
		here := cluster.Names(cluster.AtCore(w.trainers))
		if err := w.fabric.ReserveStores(here, traffic.Stored(s.plan.buckets(), s.traffic())); err != nil {
			return err
		}
		if err := traffic.Reserve(here, s.traffic()); err != nil {
			return err
		}
	}
	return cluster.Connect(ctx, s.cluster, s.all, s.connectRequest, func(*process, *proto.ConnectReply) {})
}

func (s *session) connectRequest(p *process) *proto.ConnectRequest {
	switch {
	case p.host != nil:
		links := &proto.CompanionLinks{Trainer: convert.PeerToProto(p.host.Peer()),
			Buckets: convert.BucketsToProto(s.plan.buckets())}
		if !p.serves {
			links.Hook = s.hookLinks(p.host)
		}
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Companion{Companion: links}}
	case p.serves:
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Server{Server: s.serverLinks(p)}}
	default:
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Bench{Bench: s.benchLinks(p)}}
	}
}

// hookLinks returns the links of a measuring process that its hook declares.
func (s *session) hookLinks(p *process) *proto.HookLinks {
	all, links := s.benchLinks(p), &proto.HookLinks{}
	if s.plan.HookLinks.Server {
		links.Server, links.Together = all.Server, all.Together
	}
	if s.plan.HookLinks.Group {
		links.Group = all.Group
	}
	if s.plan.HookLinks.Default {
		links.Default = all.Default
	}
	return links
}

// peerOf returns the address of a companion, or nil if there is no companion.
func peerOf(companion *process) *proto.Peer {
	if companion == nil {
		return nil
	}
	return convert.PeerToProto(companion.Peer())
}

// serverOf returns the rank of the server that a companion holds. The companion's host is that server, or a trainer
// that pushes to it.
func (p *Plan) serverOf(companion *process) int {
	if companion.host.serves {
		return companion.rank
	}
	rank, _ := p.World.ServerOf(companion.rank)
	return rank
}

func (s *session) serverLinks(p *process) *proto.ServerLinks {
	links := &proto.ServerLinks{Buckets: convert.BucketsToProto(traffic.Served(s.plan.buckets(), s.traffic())),
		Companion: peerOf(p.part)}
	for _, t := range cluster.FirstOf(p.ranks.together(s.plan, p)) {
		links.Trainers = append(links.Trainers, convert.PeerToProto(t.LinkPeer(p.ranks.fabric, p)))
	}
	links.PushedFor = int32(len(s.plan.World.TrainersOf(p.rank))) // #nosec G115 -- a count of ranks
	return links
}

func (s *session) benchLinks(p *process) *proto.BenchLinks {
	w := p.ranks
	position := int32(p.rank) // #nosec G115 -- a rank
	links := &proto.BenchLinks{Buckets: convert.BucketsToProto(s.plan.buckets()),
		Sync: &proto.Group{Position: position}, Companion: peerOf(p.part), Asked: peerOf(p.asked),
		Traffic: convert.TrafficToProto(s.traffic())}
	if rank, ok := s.plan.World.ServerOf(p.rank); ok && len(w.servers) > 0 {
		server := w.servers[rank-w.servers[0].rank]
		links.Server = convert.PeerToProto(server.LinkPeer(w.fabric, p))
		links.Together = convert.GroupToProto(cluster.TogetherWith(w.fabric, w.together(s.plan, server), p))
	}
	group := &proto.Group{Position: position}
	for _, host := range cluster.Hosts(w.trainers) {
		group.Hosts = append(group.Hosts, int32(host)) // #nosec G115 -- at most as many as ranks
	}
	for _, t := range w.trainers {
		group.Members = append(group.Members, convert.PeerToProto(t.LinkPeer(w.fabric, p)))
		links.Sync.Members = append(links.Sync.Members, convert.PeerToProto(t.NearPeer(p)))
	}
	links.Sync.Hosts = group.Hosts
	if hooks := s.plan.some(hooked); hooks && s.plan.HookLinks.Group || s.plan.some(collective) {
		links.Group = group
	}
	if s.plan.some(hooked) && s.plan.HookLinks.Default {
		links.Default = group
	}
	return links
}

var expectCodes = map[Expect]proto.MeasureRequest_Expect{
	Mean: proto.MeasureRequest_EXPECT_MEAN,
	Sum:  proto.MeasureRequest_EXPECT_SUM,
	Part: proto.MeasureRequest_EXPECT_PART,
	Any:  proto.MeasureRequest_EXPECT_ANY,
}

// foreign reports whether a part belongs to another plugin, which may compute answers differently.
func foreign(part config.Part) bool {
	return part.Plugin.Name != "" && part.Plugin.Name != registry.Builtin
}

func (s *session) measureRequest(p *process, c cell, rounds int) *proto.MeasureRequest {
	req := &proto.MeasureRequest{
		Operation: c.operation.Name, Expect: expectCodes[s.plan.serverExpect()],
		Bucket: int32(c.bucket), Rounds: int32(rounds), // #nosec G115 -- checked by Plan
		First: p.ranks.round, Fresh: c.mode == Fresh, Copy: c.place == Copied, Density: s.plan.Density,
	}
	req.Rounded = c.operation.Served && foreign(s.plan.Server) || c.operation.Hooked && foreign(s.plan.Hook)
	if c.operation.Hooked {
		req.Expect, req.Server = expectCodes[s.plan.hookExpect()], req.Expect
	}
	if server, ok := s.plan.World.ServerOf(p.rank); ok {
		for _, rank := range s.plan.World.TrainersOf(server) {
			req.Partners = append(req.Partners, int32(rank)) // #nosec G115 -- a rank
		}
	}
	return req
}
