package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/host/bench"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/data"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/table"
	"github.com/psbench/psbench/internal/host/trainer"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// Configure gives the process its part and its rank.
func (p *service) Configure(_ context.Context, req *proto.ConfigureRequest) (*proto.ConfigureReply, error) {
	useStderr()
	proc, err := p.enter(req)
	if err != nil {
		return nil, asStatus(err)
	}
	defer proc.Working.RUnlock()
	r, err := newRole(proc, req)
	if err != nil {
		return nil, p.status(err)
	}
	p.mu.Lock()
	p.role = r
	p.mu.Unlock()
	reply := &proto.ConfigureReply{Address: proc.Address(), LinkAddress: proc.LinkAddress()}
	switch r := r.(type) {
	case interface{ DescribeModel() *layout.Model }:
		if model := r.DescribeModel(); model != nil {
			reply.Holds = &proto.ConfigureReply_Model{Model: convert.ModelToProto(*model)}
		}
	case *table.Role:
		reply.Holds = &proto.ConfigureReply_Table{Table: convert.TableToProto(r.Table())}
	}
	return reply, nil
}

// enter creates the process that a request describes. The process then counts as working.
func (p *service) enter(req *proto.ConfigureRequest) (*process.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		return nil, errors.New("the process is configured already")
	}
	config := processConfig(req)
	config.Engine = p.open
	proc, err := process.New(p.parts, config, p.events)
	p.process, p.name = proc, req.GetName() // all resources of proc end with the process
	if err == nil {
		proc.Working.RLock()
	}
	return proc, err
}

// newRole creates the role that a request asks for. A role that computes opens the plugin's engine.
func newRole(p *process.Process, req *proto.ConfigureRequest) (role, error) {
	if computes(req) {
		if err := p.OpenEngine(); err != nil {
			return nil, err
		}
	}
	switch q := req.GetRole().(type) {
	case *proto.ConfigureRequest_Trainer:
		return trainer.New(p, trainerConfig(q.Trainer))
	case *proto.ConfigureRequest_Server:
		if !q.Server.GetProtocol() {
			if err := checkServes(p, false); err != nil {
				return nil, err
			}
		}
		return server.New(p, serverConfig(q.Server)), nil
	case *proto.ConfigureRequest_Table:
		if err := checkServes(p, true); err != nil {
			return nil, err
		}
		return table.New(p, table.Config{
			Seed: q.Table.GetSeed(), Position: int(q.Table.GetPosition()), Trainers: int(q.Table.GetTrainers()),
			Summarize: q.Table.GetSummarize(),
		})
	case *proto.ConfigureRequest_Data:
		if q.Data.GetProtocol() {
			return data.NewBeside(p, convert.WantedFromProto(q.Data.GetWanted())), nil
		}
		wanted := convert.WantedFromProto(q.Data.GetWanted())
		return data.New(p, sdk.DataEnv{
			Seed: q.Data.GetSeed(), Trainers: int(q.Data.GetTrainers()), BatchSize: int(q.Data.GetBatchSize()),
			Criterion: wanted.Criterion, Wanted: wanted.Targets,
		})
	case *proto.ConfigureRequest_Companion:
		return newCompanion(p, q.Companion)
	case *proto.ConfigureRequest_Bench:
		return bench.New(p, benchConfig(q.Bench)), nil
	default:
		return nil, fmt.Errorf("%s was given a role that this plugin does not know", p.Name())
	}
}

// computes reports whether the role works with tensors.
func computes(req *proto.ConfigureRequest) bool {
	switch req.GetRole().(type) {
	case *proto.ConfigureRequest_Trainer, *proto.ConfigureRequest_Server, *proto.ConfigureRequest_Table:
		return true
	case *proto.ConfigureRequest_Companion:
		return sdk.Kind(req.GetPart().GetKind()) != sdk.KindHook
	}
	return false
}

// checkServes returns an error unless the process's server serves tables exactly if tables is set.
// Servers of tables have another interface than other servers.
func checkServes(p *process.Process, tables bool) error {
	part, err := p.Find(p.Part())
	if err == nil && tables != (part.Serves == sdk.ServiceTables) {
		return fmt.Errorf("%s of this plugin serves %s, which is not what it was configured for", p.Title(),
			part.Serves)
	}
	return err
}

func newCompanion(p *process.Process, q *proto.CompanionRole) (role, error) {
	env := modelEnv(q.GetModel())
	kind := p.Part().Kind
	if err := p.NeedBeside(sdk.KindTrainer); err != nil {
		return nil, err
	}
	switch kind {
	case sdk.KindHook:
		return companion.NewHook(p, sdk.HookEnv{Trainers: int(q.GetTrainers()), Seed: q.GetSeed()}), nil
	case sdk.KindCriterion:
		return companion.NewCriterion(p, sdk.CriterionEnv{MaxBatch: env.MaxBatch}), nil
	case sdk.KindModel:
		return companion.NewModel(p, env)
	default:
		return nil, fmt.Errorf("kind %q has no process of its own beside a trainer", kind)
	}
}

func trainerConfig(q *proto.TrainerRole) trainer.Config {
	c := trainer.Config{
		Maps: map[sdk.Kind]string{}, Trainers: int(q.GetTrainers()), Epochs: int(q.GetEpochs()), Seed: q.GetSeed(),
		Server: q.GetServer(), Model: modelEnv(q.GetModel()),
		Summarize: q.GetSummarize(), FailOnNaN: q.GetFailOnNan(), ParametersBack: q.GetParametersBack(),
		HookAnswers: sdk.Answers(q.GetHookAnswers()),
	}
	for _, choice := range q.GetLocal() {
		c.Local = append(c.Local, choiceOf(choice))
	}
	for kind, key := range q.GetMaps() {
		c.Maps[sdk.Kind(kind)] = key
	}
	return c
}

func serverConfig(q *proto.ServerRole) server.Config {
	c := server.Config{Seed: q.GetSeed(), Summarize: q.GetSummarize(), Asynchronous: q.GetAsynchronous(),
		Protocol: q.GetProtocol(), ModelEnv: modelEnv(q.GetModelEnv())}
	if q.GetModel() != nil {
		c.Model = new(choiceOf(q.GetModel()))
	}
	return c
}

func benchConfig(q *proto.BenchRole) bench.Config {
	c := bench.Config{Trainers: int(q.GetTrainers()), Seed: q.GetSeed(), Protocol: q.GetProtocol()}
	for _, link := range q.GetLinks() {
		c.Links = append(c.Links, sdk.Link(link))
	}
	if q.GetHook() != nil {
		c.Hook = new(choiceOf(q.GetHook()))
	}
	return c
}

// processConfig returns the configuration of the process, such as its name and rank.
func processConfig(req *proto.ConfigureRequest) process.Config {
	return process.Config{
		Name: req.GetName(), Rank: int(req.GetRank()), Part: choiceOf(req.GetPart()),
		Timeout: time.Duration(req.GetTimeoutNs()), Secret: req.GetSecret(),
		Directory: req.GetDirectory(), Transport: req.GetTransport(), Listen: req.GetListen(),
		InsecureNetwork: req.GetInsecureNetwork(), Check: convert.CheckFromProto(req.GetCheck()),
	}
}

// choiceOf converts a part and its settings from a gRPC message.
func choiceOf(c *proto.PartChoice) process.Choice {
	return process.Choice{Kind: sdk.Kind(c.GetKind()), Key: c.GetKey(), Settings: c.GetSettings()}
}

// modelEnv converts the model's environment from a gRPC message.
func modelEnv(e *proto.ModelEnv) sdk.ModelEnv {
	return sdk.ModelEnv{MaxBatch: int(e.GetMaxBatch()), Threads: int(e.GetThreads()),
		FirstTensor: int(e.GetFirstTensor())}
}
