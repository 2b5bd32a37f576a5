package run

import (
	"fmt"

	gproto "google.golang.org/protobuf/proto"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func choice(kind sdk.Kind, p config.Part) *proto.PartChoice {
	return &proto.PartChoice{Kind: string(kind), Key: p.Key, Settings: p.Settings}
}

func (r *run) configureRequest(s *seat) *proto.ConfigureRequest {
	req := &proto.ConfigureRequest{
		Name: s.name, Rank: int32(s.rank), // #nosec G115 -- a rank
		Part:      choice(s.kind, s.part),
		Trainers:  int32(len(r.seats.trainers)), // #nosec G115 -- a count of processes
		Epochs:    int32(r.e.Epochs),            // #nosec G115 -- checked by config
		BatchSize: int32(r.e.BatchSize),         // #nosec G115 -- checked by config
		Seed:      r.e.Seed,
		Backend:   r.e.Backend,
		Threads:   int32(trainerThreads(r.e.World.Trainers)), // #nosec G115 -- a count of cores
		TimeoutNs: int64(r.e.Timeout),
		Secret:    r.secret,
		Directory: r.launcher.Directory(),
		Summarize: r.o.Summarize,
		Transport: string(r.e.Transport),
		Listen:    r.e.Listen,
	}
	if s.kind == sdk.KindTrainer {
		req.Maps = map[string]string{}
		for kind, key := range r.e.InTrainer {
			req.Maps[string(kind)] = key
		}
		for _, kind := range sdk.Isolable {
			if s.companions[kind] == nil {
				req.Local = append(req.Local, choice(kind, r.e.Parts[kind]))
			}
		}
	}
	return req
}

// agreeOnBuckets checks that all trainers planned the same buckets and gives
// sparse ones their capacity: what the batches of the connected trainers can
// touch at most, and never more than the table has.
func (r *run) agreeOnBuckets() error {
	first := r.seats.trainers[0]
	for _, t := range r.seats.trainers[1:] {
		if !gproto.Equal(&proto.PlanReply{Buckets: first.buckets}, &proto.PlanReply{Buckets: t.buckets}) {
			return fmt.Errorf("%s and %s plan different buckets: the plan must depend on the model alone", first.name, t.name)
		}
	}
	var rows int64
	for _, set := range r.e.World.Sets(r.e.Links) {
		var connected int64
		for _, t := range set {
			connected += r.shares[t].GetDistinctRows()
		}
		rows = max(rows, connected)
	}
	for _, b := range first.buckets {
		if b.GetSparse() {
			b.Capacity = min(rows, b.GetTableRows())
		}
	}
	r.result.Buckets = sdk.BucketsFromProto(first.buckets)
	return nil
}

func (r *run) connectRequest(s *seat) *proto.ConnectRequest {
	req := &proto.ConnectRequest{Buckets: r.seats.trainers[0].buckets, Model: r.model}
	switch s.kind {
	case sdk.KindTrainer:
		req.Data = r.seats.data.peer()
		req.Companions = map[string]*proto.Peer{}
		for kind, c := range s.companions {
			req.Companions[string(kind)] = c.peer()
		}
	case sdk.KindData:
		for _, t := range r.seats.trainers {
			req.Trainers = append(req.Trainers, t.peer())
		}
	case sdk.KindServer:
		if r.e.Links.Server {
			for _, t := range r.e.World.TrainersOf(s.rank) {
				req.Trainers = append(req.Trainers, r.seats.trainers[t].holder(sdk.KindHook).linkPeer())
			}
		}
	default:
		req.Trainers = []*proto.Peer{s.trainer.peer()}
	}
	if s.kind == sdk.KindHook || s.kind == sdk.KindTrainer && s.holder(sdk.KindHook) == s {
		r.addHookLinks(req, s.rank)
	}
	return req
}

// addHookLinks tells the process with a rank's hook whom to join.
func (r *run) addHookLinks(req *proto.ConnectRequest, rank int) {
	if server, ok := r.e.World.ServerOf(rank); ok && r.e.Links.Server {
		for _, s := range r.seats.servers {
			if s.rank == server {
				req.Server = s.linkPeer()
			}
		}
	}
	if r.e.Links.Group || r.e.Links.Default {
		for _, t := range r.seats.trainers {
			req.Ring = append(req.Ring, t.holder(sdk.KindHook).linkPeer())
		}
		req.Position = int32(rank) // #nosec G115 -- a rank
		req.Group, req.DefaultGroup = r.e.Links.Group, r.e.Links.Default
	}
}

func newResult(e *config.Experiment, o Options) *result.Result {
	return &result.Result{
		Schema: result.Schema, Started: startTime(o.StartedNS), Command: o.Command,
		Config: e.Values, Environment: result.Capture(), Warnings: e.Warnings, Transport: string(e.Transport),
	}
}
