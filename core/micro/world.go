package micro

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/bench"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/proto"
)

// world is the processes of one transport. Those of the transports that have no
// turn sleep.
type world struct {
	fabric   *comm.Fabric
	trainers []*process
	servers  []*process // none without push-pull
	round    int64      // number of the next round: batches of a bucket rise
}

// process is one of a world.
type process struct {
	*cluster.Member
	world *world
	rank  int
	part  *proto.PartChoice
}

// newWorld lays a world out. With several transports the names of its processes
// say which one it is: trainer0.unix.
func (p *Plan) newWorld(f *comm.Fabric) *world {
	w := &world{fabric: f}
	suffix := ""
	if len(p.Fabrics) > 1 {
		suffix = "." + f.Name
	}
	for _, rank := range p.World.TrainerRanks() {
		w.trainers = append(w.trainers, &process{
			Member: &cluster.Member{Name: p.World.Name(rank) + suffix, Plugin: registry.Plugin{Name: registry.Builtin}, Env: p.benchEnvironment()},
			world:  w, rank: rank, part: &proto.PartChoice{Kind: string(bench.Kind)},
		})
	}
	if !p.some(served) {
		return w
	}
	for _, rank := range p.World.ServerRanks() {
		w.servers = append(w.servers, &process{
			Member: &cluster.Member{Name: p.World.Name(rank) + suffix, Plugin: p.Server.Plugin},
			world:  w, rank: rank, part: &proto.PartChoice{Kind: string(sdk.KindServer), Key: p.Server.Key, Settings: p.Server.Settings},
		})
	}
	return w
}

func (w *world) processes() []*process { return slices.Concat(w.trainers, w.servers) }

// benchEnvironment gives each trainer its share of the cores, unless the user's
// GOMAXPROCS says otherwise.
func (p *Plan) benchEnvironment() []string {
	if _, set := os.LookupEnv("GOMAXPROCS"); set {
		return nil
	}
	return []string{"GOMAXPROCS=" + strconv.Itoa(max(1, runtime.NumCPU()/p.World.Trainers))}
}

func (s *session) configureRequest(p *process) *proto.ConfigureRequest {
	return &proto.ConfigureRequest{
		Rank: int32(p.rank), Part: p.part, // #nosec G115 -- a rank
		Trainers:  int32(len(p.world.trainers)), // #nosec G115 -- a count of processes
		Transport: p.world.fabric.Name, Listen: s.plan.Listen,
	}
}

func (s *session) connectRequest(p *process) *proto.ConnectRequest {
	w := p.world
	req := &proto.ConnectRequest{Buckets: convert.BucketsToProto(s.plan.buckets())}
	if p.part.GetKind() == string(sdk.KindServer) {
		for _, rank := range s.plan.World.TrainersOf(p.rank) {
			req.Trainers = append(req.Trainers, w.trainers[rank].LinkPeer())
		}
		return req
	}
	if server, ok := s.plan.World.ServerOf(p.rank); ok && len(w.servers) > 0 {
		req.Server = w.servers[server-w.servers[0].rank].LinkPeer()
	}
	for _, t := range w.trainers {
		req.Ring = append(req.Ring, t.LinkPeer())
		req.SyncRing = append(req.SyncRing, t.Peer())
	}
	req.Position = int32(p.rank) // #nosec G115 -- a rank
	req.Group = s.plan.some(collective)
	return req
}

func (s *session) measureRequest(p *process, c cell, rounds int) *proto.MeasureRequest {
	req := &proto.MeasureRequest{
		Operation: c.operation.Name, Expect: expectCodes[s.plan.Expect],
		Bucket: int32(c.bucket), Rounds: int32(rounds), // #nosec G115 -- checked by Plan
		First: p.world.round, Fresh: c.mode == Fresh, Copy: c.place == Copied, Density: s.plan.Density,
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
