package run

import (
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func choice(kind sdk.Kind, p config.Part) *proto.PartChoice {
	return &proto.PartChoice{Kind: string(kind), Key: p.Key, Settings: p.Settings}
}

func (r *run) configureRequest(p *process) *proto.ConfigureRequest {
	req := &proto.ConfigureRequest{
		Rank:      int32(p.rank), // #nosec G115 -- a rank
		Part:      choice(p.kind, p.part),
		Trainers:  int32(len(r.processes.trainers)),         // #nosec G115 -- a count of processes
		Epochs:    int32(max(r.e.Epochs, r.e.WarmUpEpochs)), // #nosec G115 -- checked by config
		BatchSize: int32(r.e.BatchSize),                     // #nosec G115 -- checked by config
		Seed:      r.e.Seed,
		Threads:   int32(r.threads(p)), // #nosec G115 -- a count of cores
		Summarize: r.o.Summarize,
		FailOnNan: r.e.FailOnNaN,
		Transport: r.e.Fabric.Name,
		Listen:    r.e.Listen,
		Server:    r.e.Parts[sdk.KindServer].Key,
		Position:  int32(p.position), // #nosec G115 -- a count of processes
	}
	if r.e.Service == sdk.ServiceTables {
		req.FirstTensor = int32(len(r.processes.servers)) // #nosec G115 -- a count of processes
	}
	switch p.kind {
	case sdk.KindServer:
		if r.e.Service == sdk.ServiceParameters {
			req.Local = append(req.Local, choice(sdk.KindModel, r.e.Parts[sdk.KindModel]))
		}
	case sdk.KindTrainer:
		req.ParametersBack = r.e.Service == sdk.ServiceParameters
		req.Maps = map[string]string{}
		for kind, key := range r.e.InTrainer {
			req.Maps[string(kind)] = key
		}
		for _, kind := range sdk.Isolable {
			if p.companions[kind] == nil {
				req.Local = append(req.Local, choice(kind, r.e.Parts[kind]))
			}
		}
	}
	return req
}

func (r *run) connectRequest(p *process) *proto.ConnectRequest {
	req := &proto.ConnectRequest{Buckets: r.buckets(), Model: r.model}
	switch p.kind {
	case sdk.KindTrainer:
		req.Data, req.Share, req.Streamed = r.processes.data.Peer(), r.shares[p.rank], r.streamed
		if r.lookup != nil {
			req.Lookup = r.lookup
			for _, v := range r.processes.servers {
				req.TableServers = append(req.TableServers, v.LinkPeer())
			}
		}
		req.Companions = map[string]*proto.Peer{}
		for kind, c := range p.companions {
			req.Companions[string(kind)] = c.Peer()
		}
	case sdk.KindData:
		for _, t := range r.processes.trainers {
			req.Trainers = append(req.Trainers, t.Peer())
		}
	case sdk.KindServer:
		r.addTrainers(req, p)
	default:
		req.Trainers = []*proto.Peer{p.trainer.Peer()}
	}
	if p.kind == sdk.KindHook || p.kind == sdk.KindTrainer && p.holder(sdk.KindHook) == p {
		r.addHookLinks(req, p.rank)
	}
	return req
}

// addTrainers tells a server who will join it: the processes with the hooks of its
// trainers, or, at a server of a table, the trainers themselves.
func (r *run) addTrainers(req *proto.ConnectRequest, server *process) {
	req.Lookup = r.lookup
	if r.lookup == nil && !r.e.Links.Server {
		return
	}
	for _, rank := range r.e.World.TrainersOf(server.rank) {
		t := r.processes.trainers[rank]
		if r.lookup == nil {
			t = t.holder(sdk.KindHook)
		}
		req.Trainers = append(req.Trainers, t.LinkPeer())
		req.Batches = append(req.Batches, int64(r.e.Epochs)*r.shares[rank].GetBatches())
	}
}

// addHookLinks tells the process with a rank's hook whom to join.
func (r *run) addHookLinks(req *proto.ConnectRequest, rank int) {
	if server, ok := r.e.World.ServerOf(rank); ok && r.e.Links.Server {
		for _, p := range r.processes.servers {
			if p.rank == server {
				req.Server = p.LinkPeer()
			}
		}
	}
	if r.e.Links.Group || r.e.Links.Default {
		for _, t := range r.processes.trainers {
			req.Ring = append(req.Ring, t.holder(sdk.KindHook).LinkPeer())
		}
		req.Position = int32(rank) // #nosec G115 -- a rank
		req.Group, req.DefaultGroup = r.e.Links.Group, r.e.Links.Default
	}
}

// Pending is the result of a run of e that has yet to begin.
func Pending(e *config.Experiment, o Options) *result.Result {
	r := newResult(e, o)
	r.Error = result.Running
	return r
}

func newResult(e *config.Experiment, o Options) *result.Result {
	return &result.Result{
		Schema: result.Schema, Started: startTime(o.StartedNS), StartedNS: o.StartedNS, Command: o.Command,
		Config: e.Values, Environment: result.Capture(), Warnings: e.Warnings, Transport: e.Fabric.Name,
	}
}
