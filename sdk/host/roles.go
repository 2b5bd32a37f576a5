package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/batches"
	"github.com/psbench/psbench/sdk/host/bench"
	"github.com/psbench/psbench/sdk/host/companion"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/data"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/host/record"
	"github.com/psbench/psbench/sdk/host/server"
	"github.com/psbench/psbench/sdk/host/table"
	"github.com/psbench/psbench/sdk/host/trainer"
	"github.com/psbench/psbench/sdk/proto"
)

// role is what a process is after Configure.
type role interface {
	Reset() error
	Collect(record.Send) error
}

// runner is a role that runs passes: a trainer.
type runner interface {
	Train(ctx context.Context, epochs int) (*record.Work, error)
}

// newRole makes the role that a request asks for.
func newRole(p *process.Process, req *proto.ConfigureRequest) (role, error) {
	switch q := req.GetRole().(type) {
	case *proto.ConfigureRequest_Trainer:
		return trainer.New(p, trainerConfig(q.Trainer))
	case *proto.ConfigureRequest_Server:
		if err := checkServes(p, false); err != nil {
			return nil, err
		}
		return server.New(p, serverConfig(q.Server)), nil
	case *proto.ConfigureRequest_Table:
		if err := checkServes(p, true); err != nil {
			return nil, err
		}
		return table.New(p, table.Config{
			Seed: q.Table.GetSeed(), Position: int(q.Table.GetPosition()), Trainers: int(q.Table.GetTrainers()), Summarize: q.Table.GetSummarize(),
		})
	case *proto.ConfigureRequest_Data:
		return data.New(p, sdk.DataEnv{Seed: q.Data.GetSeed(), Trainers: int(q.Data.GetTrainers()), BatchSize: int(q.Data.GetBatchSize())})
	case *proto.ConfigureRequest_Companion:
		return newCompanion(p, q.Companion)
	case *proto.ConfigureRequest_Bench:
		return bench.New(p), nil
	default:
		return nil, fmt.Errorf("%s was given no role that this plugin knows", p.Name())
	}
}

// checkServes says whether the process's server serves tables, which differ from other
// servers in their interface, as it is to.
func checkServes(p *process.Process, tables bool) error {
	part, err := p.Find(p.Part())
	if err == nil && tables != (part.Serves == sdk.ServiceTables) {
		return fmt.Errorf("%s of this plugin serves %s, which is not what it was configured for", p.Title(), part.Serves)
	}
	return err
}

func newCompanion(p *process.Process, q *proto.CompanionRole) (role, error) {
	env := convert.ModelEnv(q.GetModel())
	switch kind := p.Part().Kind; kind {
	case sdk.KindHook:
		return companion.NewHook(p, int(q.GetTrainers())), nil
	case sdk.KindCriterion:
		return companion.NewCriterion(p, sdk.CriterionEnv{MaxBatch: env.MaxBatch}), nil
	case sdk.KindModel:
		return companion.NewModel(p, env)
	default:
		return nil, fmt.Errorf("kind %q has no process of its own beside a trainer", kind)
	}
}

// connect has a role join its links.
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
			return nil, errors.New("a server of a table was connected without what is looked up in it")
		}
		facts, err = r.Connect(*convert.LookupFromProto(q.GetLookup()), convert.PeersFromProto(q.GetTrainers()))
	case *data.Role:
		facts, err = r.Connect(convert.PeersFromProto(req.GetData().GetTrainers()))
	case *companion.HookRole:
		q := req.GetCompanion()
		facts, err = r.Connect(companion.HookPeers{
			Trainer: convert.PeerFromProto(q.GetTrainer()), Buckets: convert.BucketsFromProto(q.GetBuckets()), Links: convert.HookLinksFromProto(q.GetHook()),
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
	return &proto.ConnectReply{Facts: facts}, nil
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

func trainerConfig(q *proto.TrainerRole) trainer.Config {
	c := trainer.Config{
		Maps: map[sdk.Kind]string{}, Trainers: int(q.GetTrainers()), Epochs: int(q.GetEpochs()), Seed: q.GetSeed(),
		Server: q.GetServer(), Model: convert.ModelEnv(q.GetModel()),
		Summarize: q.GetSummarize(), FailOnNaN: q.GetFailOnNan(), ParametersBack: q.GetParametersBack(),
	}
	for _, choice := range q.GetLocal() {
		c.Local = append(c.Local, convert.Choice(choice))
	}
	for kind, key := range q.GetMaps() {
		c.Maps[sdk.Kind(kind)] = key
	}
	return c
}

func trainerPeers(q *proto.TrainerLinks) trainer.Peers {
	peers := trainer.Peers{
		Buckets: convert.BucketsFromProto(q.GetBuckets()), Model: convert.ModelFromProto(q.GetModel()),
		Source:     batches.Source{Data: convert.PeerFromProto(q.GetData()), Share: convert.ShareFromProto(q.GetShare()), Streamed: q.GetStreamed()},
		Hook:       convert.HookLinksFromProto(q.GetHook()),
		Companions: map[sdk.Kind]process.Peer{},
		Lookup:     convert.LookupFromProto(q.GetLookup()), TableServers: convert.PeersFromProto(q.GetTableServers()),
	}
	for kind, peer := range q.GetCompanions() {
		peers.Companions[sdk.Kind(kind)] = convert.PeerFromProto(peer)
	}
	return peers
}

func serverConfig(q *proto.ServerRole) server.Config {
	c := server.Config{Seed: q.GetSeed(), Summarize: q.GetSummarize(), ModelEnv: convert.ModelEnv(q.GetModelEnv())}
	if q.GetModel() != nil {
		choice := convert.Choice(q.GetModel())
		c.Model = &choice
	}
	return c
}

func serverPeers(q *proto.ServerLinks) server.Peers {
	peers := server.Peers{Buckets: convert.BucketsFromProto(q.GetBuckets()), Trainers: convert.PeersFromProto(q.GetTrainers())}
	for _, n := range q.GetBatches() {
		peers.Batches = append(peers.Batches, int(n))
	}
	return peers
}

func benchPeers(q *proto.BenchLinks) bench.Peers {
	return bench.Peers{
		Buckets: convert.BucketsFromProto(q.GetBuckets()), Server: convert.PeerOrNil(q.GetServer()),
		Group: convert.GroupOrNil(q.GetGroup()), Sync: convert.GroupFromProto(q.GetSync()),
	}
}

func partitionRequest(q *proto.PartitionRequest) data.Request {
	req := data.Request{Inputs: convert.InputsFromProto(q.GetInputs()), BatchSize: int(q.GetBatchSize())}
	for _, s := range q.GetSets() {
		var set []int
		for _, t := range s.GetTrainers() {
			set = append(set, int(t))
		}
		req.Sets = append(req.Sets, set)
	}
	return req
}

func measureRequest(q *proto.MeasureRequest) bench.Request {
	req := bench.Request{
		Operation: q.GetOperation(), Bucket: int(q.GetBucket()), First: q.GetFirst(), Rounds: int(q.GetRounds()),
		Fresh: q.GetFresh(), Copy: q.GetCopy(), Density: q.GetDensity(),
		Expect: map[proto.MeasureRequest_Expect]bench.Expect{
			proto.MeasureRequest_EXPECT_MEAN: bench.Mean, proto.MeasureRequest_EXPECT_SUM: bench.Sum,
		}[q.GetExpect()],
	}
	for _, rank := range q.GetPartners() {
		req.Partners = append(req.Partners, int(rank))
	}
	return req
}
