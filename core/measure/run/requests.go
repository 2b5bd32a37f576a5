package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// configure sends each process the parts that it holds.
func (r *run) configure(ctx context.Context) error {
	return cluster.Configure(ctx, r.cluster, r.processes.all, r.configureRequest, (*process).configured)
}

func choice(kind sdk.Kind, p config.Part) *proto.PartChoice {
	return &proto.PartChoice{Kind: string(kind), Key: p.Key, Settings: p.Settings}
}

func (r *run) configureRequest(p *process) *proto.ConfigureRequest {
	req := &proto.ConfigureRequest{
		Rank:      int32(p.rank), // #nosec G115 -- a rank
		Part:      choice(p.kind, r.e.Parts[p.kind]),
		Transport: r.e.Fabric.Name,
		Listen:    r.e.Listen, InsecureNetwork: r.e.InsecureNetwork,
	}
	if r.e.Check {
		req.Check = &proto.Check{Seed: r.e.Seed}
	}
	switch {
	case p.host != nil:
		req.Role = &proto.ConfigureRequest_Companion{Companion: r.companionRole(p)}
	case p.kind == sdk.KindTrainer:
		req.Role = &proto.ConfigureRequest_Trainer{Trainer: r.trainerRole(p)}
	case p.kind == sdk.KindServer:
		r.setServerRole(req, p)
	case p.kind == sdk.KindData:
		req.Role = &proto.ConfigureRequest_Data{Data: &proto.DataRole{
			Seed:      r.e.Seed,
			Trainers:  int32(len(r.processes.trainers)), // #nosec G115 -- a count of processes
			BatchSize: int32(r.e.BatchSize),             // #nosec G115 -- checked by config
			Protocol:  p.companions[p.kind] != nil,
			Wanted:    r.wanted(),
		}}
	}
	return req
}

// companionRole describes the run to a companion. For a server's part, the number of
// trainers counts only those that push to the server.
func (r *run) companionRole(p *process) *proto.CompanionRole {
	trainers := len(r.processes.trainers)
	if p.kind == sdk.KindServer {
		trainers = len(r.e.World.TrainersOf(p.rank))
	}
	role := &proto.CompanionRole{Trainers: int32(trainers), Seed: r.e.SeedOf(p.rank)} // #nosec G115 -- a count of processes
	switch p.kind {
	case sdk.KindServer:
	case sdk.KindData:
		role.BatchSize = int32(r.e.BatchSize) // #nosec G115 -- checked by config
		role.Wanted = r.wanted()
	default:
		role.Model = r.modelEnv(p)
	}
	return role
}

// wanted returns the kind of targets that the criterion takes.
func (r *run) wanted() *proto.Wanted {
	c := r.e.Parts[sdk.KindCriterion]
	return convert.WantedToProto(batches.Wanted{Criterion: c.Key, Targets: c.Targets})
}

func (r *run) trainerRole(p *process) *proto.TrainerRole {
	role := &proto.TrainerRole{
		Maps:      map[string]string{},
		Trainers:  int32(len(r.processes.trainers)), // #nosec G115 -- a count of processes
		Epochs:    r.mostEpochs(),
		Seed:      r.e.SeedOf(p.rank),
		Server:    r.e.Parts[sdk.KindServer].Key,
		Model:     r.modelEnv(p),
		Summarize: r.o.Summarize, FailOnNan: r.e.FailOnNaN, ParametersBack: r.e.Service == sdk.ServiceParameters,
	}
	if r.checksHook() {
		role.HookAnswers = string(r.e.Parts[sdk.KindHook].Answers)
	}
	for kind, key := range r.e.InTrainer {
		role.Maps[string(kind)] = key
	}
	for _, kind := range registry.Isolable {
		if p.companions[kind] == nil {
			role.Local = append(role.Local, choice(kind, r.e.Parts[kind]))
		}
	}
	return role
}

// setServerRole makes the process a server, of a table or of another service.
func (r *run) setServerRole(req *proto.ConfigureRequest, p *process) {
	if r.e.Service == sdk.ServiceTables {
		req.Role = &proto.ConfigureRequest_Table{Table: &proto.TableRole{
			Seed: r.e.SeedOf(p.rank), Summarize: r.o.Summarize,
			Position: int32(p.position),                // #nosec G115 -- a count of processes
			Trainers: int32(len(r.processes.trainers)), // #nosec G115 -- a count of processes
		}}
		return
	}
	role := &proto.ServerRole{
		Seed: r.e.SeedOf(p.rank), Summarize: r.o.Summarize,
		Asynchronous: r.e.Parts[sdk.KindServer].Asynchronous, Protocol: p.companions[p.kind] != nil,
	}
	if r.e.Service == sdk.ServiceParameters {
		role.Model, role.ModelEnv = choice(sdk.KindModel, r.e.Parts[sdk.KindModel]), r.modelEnv(p)
	}
	req.Role = &proto.ConfigureRequest_Server{Server: role}
}

// modelEnv describes the run to the model of a process. The numbers of the model's tensors follow those of the tables.
func (r *run) modelEnv(p *process) *proto.ModelEnv {
	env := &proto.ModelEnv{
		MaxBatch: int32(r.e.BatchSize), // #nosec G115 -- checked by config
		Threads:  int32(r.threads(p)),  // #nosec G115 -- a count of cores
	}
	if r.e.Service == sdk.ServiceTables {
		env.FirstTensor = int32(len(r.processes.servers)) // #nosec G115 -- a count of processes
	}
	return env
}

func (r *run) planRequest(tables []comm.TableSpec) *proto.PlanRequest {
	return &proto.PlanRequest{Model: convert.ModelToProto(r.model), Tables: convert.TablesToProto(tables)}
}

// trafficRequest asks a companion with the hook for the traffic of the buckets.
func (r *run) trafficRequest() *proto.PlanRequest {
	return &proto.PlanRequest{Buckets: convert.BucketsToProto(r.buckets())}
}

func (r *run) partitionRequest() *proto.PartitionRequest {
	req := &proto.PartitionRequest{
		Inputs:    convert.InputsToProto(*r.inputs()),
		BatchSize: int32(r.e.BatchSize), // #nosec G115 -- checked by config
		Companion: r.partOf(r.processes.data),
	}
	for _, set := range r.e.Connected() {
		s := &proto.TrainerSet{}
		for _, t := range set {
			s.Trainers = append(s.Trainers, int32(t)) // #nosec G115 -- a rank
		}
		req.Sets = append(req.Sets, s)
	}
	return req
}

// connect checks that enough memory is available for all links, then joins the links.
func (r *run) connect(ctx context.Context) error {
	if err := r.reserve(); err != nil {
		return err
	}
	if err := r.checkDevices(); err != nil {
		return err
	}
	r.result.Links = r.links()
	if err := cluster.Connect(ctx, r.cluster, r.processes.all, r.connectRequest, (*process).connected); err != nil {
		return err
	}
	r.nameGroup()
	return nil
}

// nameGroup records which implementation reduces the trainers' group. It warns if the backend is NCCL but another
// transport does the work. Only the trainers know what reduces the buckets and whether the buckets stay on a device.
func (r *run) nameGroup() {
	if r.result.Group == "" {
		return
	}
	var why []string
	if r.e.NotNCCL != "" {
		why = append(why, r.e.NotNCCL)
	}
	trainers := r.processes.trainers
	staged := slices.IndexFunc(trainers, func(p *process) bool {
		fact := p.facts[record.FactBuckets]
		return fact != record.BucketsShared && fact != record.BucketsLeft
	})
	switch library := trainers[0].facts[record.FactGroup]; {
	case staged >= 0:
		p := trainers[staged]
		why = append(why, "the buckets of "+p.Name+" are "+cmp.Or(p.facts[record.FactBuckets], "in host memory"))
	case library != "":
		r.result.Group = library
		return
	default:
		r.result.Group = config.GroupByIPC
	}
	r.result.Warnings = append(r.result.Warnings,
		"the trainers' group is not NCCL's but "+r.result.Group+": "+strings.Join(why, ", and "))
}

func (r *run) connectRequest(p *process) *proto.ConnectRequest {
	switch {
	case p.host != nil:
		links := &proto.CompanionLinks{Trainer: convert.PeerToProto(p.host.Peer()),
			Buckets: convert.BucketsToProto(r.buckets())}
		if p.kind == sdk.KindHook {
			links.Hook = r.hookLinks(p.rank)
		}
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Companion{Companion: links}}
	case p.kind == sdk.KindTrainer:
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Trainer{Trainer: r.trainerLinks(p)}}
	case p.kind == sdk.KindData:
		links := &proto.DataLinks{}
		for _, t := range r.processes.trainers {
			links.Trainers = append(links.Trainers, convert.PeerToProto(t.NearPeer(p)))
		}
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Data{Data: links}}
	default:
		if r.lookup == nil {
			return &proto.ConnectRequest{Role: &proto.ConnectRequest_Server{Server: r.serverLinks(p)}}
		}
		links := &proto.TableLinks{Lookup: convert.LookupToProto(r.lookup)}
		for _, rank := range r.e.World.TrainersOf(p.rank) {
			links.Trainers = append(links.Trainers,
				convert.PeerToProto(r.processes.trainers[rank].LinkPeer(r.e.Fabric, p)))
		}
		return &proto.ConnectRequest{Role: &proto.ConnectRequest_Table{Table: links}}
	}
}

// partOf returns the companion with the part of a server or of data. It returns nil if the rank holds the part itself.
func (r *run) partOf(p *process) *proto.Peer {
	part := p.companions[p.kind]
	if part == nil {
		return nil
	}
	return convert.PeerToProto(part.Peer())
}

func (r *run) trainerLinks(p *process) *proto.TrainerLinks {
	links := &proto.TrainerLinks{
		Buckets: convert.BucketsToProto(r.buckets()), Model: convert.ModelToProto(r.model),
		Data: convert.PeerToProto(r.processes.data.NearPeer(p)), Share: convert.ShareToProto(r.shares[p.rank]),
		Streamed:   r.streamed,
		Companions: map[string]*proto.Peer{}, Lookup: convert.LookupToProto(r.lookup),
	}
	if r.lookup != nil {
		for _, v := range r.processes.servers {
			links.TableServers = append(links.TableServers, convert.PeerToProto(v.LinkPeer(r.e.Fabric, p)))
		}
	}
	for kind, c := range p.companions {
		links.Companions[string(kind)] = convert.PeerToProto(c.Peer())
	}
	if p.joiner() == p {
		links.Hook = r.hookLinks(p.rank)
	}
	return links
}

// serverLinks lists the processes that will join a server: the holders of its trainers' hooks.
func (r *run) serverLinks(server *process) *proto.ServerLinks {
	links := &proto.ServerLinks{Buckets: convert.BucketsToProto(traffic.Served(r.buckets(), r.traffic())),
		Companion: r.partOf(server)}
	if !r.e.Links.Server {
		return links
	}
	for _, p := range cluster.FirstOf(r.together(server)) {
		links.Trainers = append(links.Trainers, convert.PeerToProto(p.LinkPeer(r.e.Fabric, server)))
	}
	links.PushedFor = int32(len(r.e.World.TrainersOf(server.rank))) // #nosec G115 -- a count of processes
	return links
}

// hookLinks lists the links that the process with a rank's hook joins.
func (r *run) hookLinks(rank int) *proto.HookLinks {
	links, joiner := &proto.HookLinks{Traffic: convert.TrafficToProto(r.traffic())}, r.processes.trainers[rank].joiner()
	if server, ok := r.e.World.ServerOf(rank); ok && r.e.Links.Server {
		for _, p := range r.processes.servers {
			if p.rank == server {
				links.Server = convert.PeerToProto(p.LinkPeer(r.e.Fabric, joiner))
				links.Together = convert.GroupToProto(cluster.TogetherWith(r.e.Fabric, r.together(p), joiner))
			}
		}
	}
	if !r.e.Links.Group && !r.e.Links.Default {
		return links
	}
	group := &proto.Group{Position: int32(rank), AcrossDevices: r.e.GroupSpans()} // #nosec G115 -- a rank
	for _, host := range cluster.Hosts(r.processes.trainers) {                    // also the hosts of their joiners
		group.Hosts = append(group.Hosts, int32(host)) // #nosec G115 -- at most as many as ranks
	}
	for _, t := range r.processes.trainers {
		group.Members = append(group.Members, convert.PeerToProto(t.joiner().LinkPeer(r.e.Fabric, joiner)))
	}
	if r.e.Links.Group {
		links.Group = group
	}
	if r.e.Links.Default {
		links.Default = group
	}
	return links
}

func trainRequest(l stop.Length) *proto.TrainRequest {
	switch {
	case l.Epochs > 0:
		return &proto.TrainRequest{Epochs: new(int32(l.Epochs))} // #nosec G115 -- checked by config
	case l.Iterations > 0:
		return &proto.TrainRequest{Iterations: new(int64(l.Iterations))}
	default:
		return &proto.TrainRequest{}
	}
}

func boundRequest(ahead time.Duration) *proto.BoundRequest {
	return &proto.BoundRequest{AheadNs: int64(ahead)}
}

func endRequest(iterations int64) *proto.EndRequest {
	return &proto.EndRequest{Iterations: iterations}
}

// expectRequest lists how many batches a server will get from each of its trainers, if the numbers are known.
func expectRequest(batches []int64, trainers []int) *proto.ExpectRequest {
	req := &proto.ExpectRequest{}
	if batches == nil {
		return req
	}
	for _, t := range trainers {
		req.Batches = append(req.Batches, batches[t])
	}
	return req
}

func collectRequest(pass record.Pass) *proto.CollectRequest {
	return &proto.CollectRequest{Pass: convert.PassToProto(pass)}
}
