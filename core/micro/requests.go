package micro

import (
	"context"

	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/proto"
)

func (s *session) configure(ctx context.Context) error {
	return cluster.Configure(ctx, s.cluster, s.all, s.configureRequest, func(*process, *proto.ConfigureReply) {})
}

func (s *session) configureRequest(p *process) *proto.ConfigureRequest {
	role := &proto.BenchRole{Trainers: int32(s.plan.World.Trainers), Seed: s.plan.Seed} // #nosec G115 -- a count of ranks
	if hook := s.plan.Hook; s.plan.some(hooked) {
		role.Hook = &proto.PartChoice{Kind: string(sdk.KindHook), Key: hook.Key, Settings: hook.Settings}
	}
	req := &proto.ConfigureRequest{
		Rank:      int32(p.rank), // #nosec G115 -- a rank
		Transport: p.ranks.fabric.Name, Listen: s.plan.Listen,
		Role: &proto.ConfigureRequest_Bench{Bench: role},
	}
	server := s.plan.Server
	if p.serves || s.plan.asksServer() {
		req.Part = &proto.PartChoice{Kind: string(sdk.KindServer), Key: server.Key, Settings: server.Settings}
	}
	if p.serves {
		req.Role = &proto.ConfigureRequest_Server{Server: &proto.ServerRole{Asynchronous: server.Asynchronous}}
	}
	return req
}

func (s *session) connect(ctx context.Context) error {
	for _, w := range s.ranks {
		if err := w.fabric.ReserveStores(cluster.Names(cluster.AtCore(w.trainers)), s.plan.buckets()); err != nil {
			return err
		}
	}
	return cluster.Connect(ctx, s.cluster, s.all, s.connectRequest, func(*process, *proto.ConnectReply) {})
}

func (s *session) connectRequest(p *process) *proto.ConnectRequest {
	if p.serves {
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Server{Server: s.serverLinks(p)}}
	}
	return &proto.ConnectRequest{Role: &proto.ConnectRequest_Bench{Bench: s.benchLinks(p)}}
}

func (s *session) serverLinks(p *process) *proto.ServerLinks {
	links := &proto.ServerLinks{Buckets: convert.BucketsToProto(s.plan.buckets())}
	for _, rank := range s.plan.World.TrainersOf(p.rank) {
		links.Trainers = append(links.Trainers, convert.PeerToProto(p.ranks.trainers[rank].LinkPeer()))
	}
	return links
}

func (s *session) benchLinks(p *process) *proto.BenchLinks {
	w := p.ranks
	position := int32(p.rank) // #nosec G115 -- a rank
	links := &proto.BenchLinks{Buckets: convert.BucketsToProto(s.plan.buckets()), Sync: &proto.Group{Position: position}}
	if server, ok := s.plan.World.ServerOf(p.rank); ok && len(w.servers) > 0 {
		links.Server = convert.PeerToProto(w.servers[server-w.servers[0].rank].LinkPeer())
	}
	group := &proto.Group{Position: position}
	for _, t := range w.trainers {
		group.Members = append(group.Members, convert.PeerToProto(t.LinkPeer()))
		links.Sync.Members = append(links.Sync.Members, convert.PeerToProto(t.Peer()))
	}
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

func (s *session) measureRequest(p *process, c cell, rounds int) *proto.MeasureRequest {
	req := &proto.MeasureRequest{
		Operation: c.operation.Name, Expect: expectCodes[s.plan.serverExpect()],
		Bucket: int32(c.bucket), Rounds: int32(rounds), // #nosec G115 -- checked by Plan
		First: p.ranks.round, Fresh: c.mode == Fresh, Copy: c.place == Copied, Density: s.plan.Density,
	}
	if c.operation.Hooked {
		req.Expect, req.Server = expectCodes[s.plan.HookExpect], req.Expect
	}
	if server, ok := s.plan.World.ServerOf(p.rank); ok {
		for _, rank := range s.plan.World.TrainersOf(server) {
			req.Partners = append(req.Partners, int32(rank)) // #nosec G115 -- a rank
		}
	}
	return req
}
