package micro

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// world is the processes of one transport. Those of the transports that have no
// turn sleep.
type world struct {
	transport comm.Transport
	trainers  []*member
	servers   []*member // none without push-pull
	round     int64     // number of the next round: batches of a bucket rise
}

// member is a process of a world.
type member struct {
	name   string
	rank   int
	part   *proto.PartChoice
	plugin registry.Plugin

	// known once it runs
	process *launch.Process
	address string // for the group that lines the rounds up
	link    string // for what is measured
}

func (m *member) peer() *proto.Peer     { return &proto.Peer{Name: m.name, Address: m.address} }
func (m *member) linkPeer() *proto.Peer { return &proto.Peer{Name: m.name, Address: m.link} }

// newWorld lays a world out. With several transports the names of its processes
// say which one it is: trainer0.unix.
func (p *Plan) newWorld(t comm.Transport) (*world, error) {
	w := &world{transport: t}
	suffix := ""
	if len(p.Transports) > 1 {
		suffix = "." + string(t)
	}
	for _, rank := range p.World.TrainerRanks() {
		settings, err := json.Marshal(p.benchSettings(rank))
		if err != nil {
			return nil, err
		}
		w.trainers = append(w.trainers, &member{
			name: p.World.Name(rank) + suffix, rank: rank, plugin: registry.Plugin{Name: registry.Builtin},
			part: &proto.PartChoice{Kind: string(sdk.KindBench), Settings: settings},
		})
	}
	if !p.has(PushPull) {
		return w, nil
	}
	for _, rank := range p.World.ServerRanks() {
		w.servers = append(w.servers, &member{
			name: p.World.Name(rank) + suffix, rank: rank, plugin: p.Server.Plugin,
			part: &proto.PartChoice{Kind: string(sdk.KindServer), Key: p.Server.Key, Settings: p.Server.Settings},
		})
	}
	return w, nil
}

func (p *Plan) benchSettings(rank int) sdk.BenchSettings {
	s := sdk.BenchSettings{Density: p.Density, Ranks: []int{}}
	if server, ok := p.World.ServerOf(rank); ok {
		s.Ranks = p.World.TrainersOf(server)
	}
	return s
}

func (w *world) members() []*member { return append(append([]*member{}, w.trainers...), w.servers...) }

// environment gives each trainer its share of the cores, unless the user's
// GOMAXPROCS says otherwise.
func (p *Plan) environment(m *member) []string {
	if _, set := os.LookupEnv("GOMAXPROCS"); set || m.part.GetKind() != string(sdk.KindBench) {
		return nil
	}
	return []string{"GOMAXPROCS=" + strconv.Itoa(max(1, runtime.NumCPU()/p.World.Trainers))}
}

func (s *session) configureRequest(w *world, m *member) *proto.ConfigureRequest {
	return &proto.ConfigureRequest{
		Name: m.name, Rank: int32(m.rank), Part: m.part, // #nosec G115 -- a rank
		Trainers:  int32(len(w.trainers)), // #nosec G115 -- a count of processes
		TimeoutNs: int64(s.plan.Timeout),
		Secret:    s.secret, Directory: s.launcher.Directory(),
		Transport: string(w.transport), Listen: s.plan.Listen,
	}
}

func (s *session) connectRequest(w *world, m *member) *proto.ConnectRequest {
	req := &proto.ConnectRequest{Buckets: sdk.BucketsToProto(s.plan.buckets())}
	if m.part.GetKind() == string(sdk.KindServer) {
		for _, rank := range s.plan.World.TrainersOf(m.rank) {
			req.Trainers = append(req.Trainers, w.trainers[rank].linkPeer())
		}
		return req
	}
	if server, ok := s.plan.World.ServerOf(m.rank); ok && len(w.servers) > 0 {
		req.Server = w.servers[server-w.servers[0].rank].linkPeer()
	}
	for _, t := range w.trainers {
		req.Ring = append(req.Ring, t.linkPeer())
		req.SyncRing = append(req.SyncRing, t.peer())
	}
	req.Position = int32(m.rank) // #nosec G115 -- a rank
	req.Group = s.plan.collective()
	return req
}

func (s *session) measureRequest(w *world, c cell, rounds int) *proto.MeasureRequest {
	return &proto.MeasureRequest{
		Operation: operationCodes[c.operation], Expect: expectCodes[s.plan.Expect],
		Bucket: int32(c.bucket), Rounds: int32(rounds), // #nosec G115 -- checked by Plan
		First: w.round, Fresh: c.mode == Fresh, Copy: c.place == Copied,
	}
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
