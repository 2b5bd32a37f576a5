package sdk

import (
	"context"
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// trainerRole hosts a trainer and those of its model, criterion and hook that
// live in the same process; the others it reaches through companions.
type trainerRole struct {
	*station
	trainer    Trainer
	model      Model // nil until connect if it lives in a companion
	specs      []ParameterSpec
	inputs     *proto.Inputs // of the data
	parts      TrainerParts
	store      *comm.Store // of the buckets
	evaluation *evaluation // nil without held-out samples
	batches    *counted    // of parts
	// training is held during a pass. After a failure the core collects while
	// the pass may still be ending.
	training sync.Mutex
	epochs   int // of the pass

	mu     sync.Mutex // of what is told of the pass while it runs
	losses []float64
	work   work
	next   Key // the iteration that Loss will tell of
	found  nonFinite
	stop   context.CancelCauseFunc // ends the pass; nil before the first one
}

func newTrainerRole(st *station) (*trainerRole, error) {
	r := &trainerRole{station: st}
	maps := map[Kind]string{}
	for k, v := range st.req.GetMaps() {
		maps[Kind(k)] = v
	}
	var err error
	r.trainer, err = build[Trainer](st, st.req.GetPart(), TrainerEnv{
		Rank: st.rank(), Name: st.name(), Trainers: int(st.req.GetTrainers()), Epochs: int(st.req.GetEpochs()), Seed: st.req.GetSeed(), Server: st.req.GetServer(), Maps: maps,
	})
	if err != nil {
		return nil, err
	}
	if choice := st.local(KindModel); choice != nil {
		r.model, err = buildModel(st, choice)
	}
	return r, err
}

func (r *trainerRole) describeModel() *proto.ModelDescription {
	if r.model == nil {
		return nil
	}
	return modelToProto(r.model)
}

func (r *trainerRole) plan(req *proto.PlanRequest) (*proto.PlanReply, error) {
	r.specs = parametersFromProto(req.GetModel())
	for k := range r.specs {
		if err := checkShape(&r.specs[k]); err != nil {
			return nil, err
		}
	}
	inputs, err := r.planInputs(inputsFromProto(req.GetModel().GetInputs()), tablesFromProto(req.GetTables()))
	if err != nil {
		return nil, err
	}
	plan, err := r.trainer.Plan(r.specs)
	if err = errorOf(r.title(), "Plan", err); err == nil {
		err = checkPlan(r.specs, plan)
	}
	r.inputs = inputsToProto(inputs)
	return &proto.PlanReply{Buckets: BucketsToProto(plan), Inputs: r.inputs}, err
}

// planInputs are the limits of the data: the model's own unless the trainer looks
// up what the model gets.
func (r *trainerRole) planInputs(model InputSpec, tables []comm.TableSpec) (InputSpec, error) {
	planner, ok := r.trainer.(InputPlanner)
	key := r.req.GetPart().GetKey()
	switch {
	case !ok && model.LookedUp > 0:
		return model, fmt.Errorf("the model takes %d features that are rows of tables, but trainer %s does not look anything up", model.LookedUp, key)
	case ok && len(tables) == 0:
		return model, fmt.Errorf("trainer %s looks up tables, but the run has no servers that hold any", key)
	case !ok && len(tables) > 0:
		return model, fmt.Errorf("trainer %s does not look anything up, but the run's servers hold %d tables", key, len(tables))
	case !ok:
		return model, nil
	}
	inputs, err := planner.PlanInputs(model, tables)
	return inputs, errorOf(r.title(), "PlanInputs", err)
}

func (r *trainerRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	reply := &proto.ConnectReply{BoundaryNs: map[string]int64{}, Facts: map[string]string{}}
	p := &r.parts
	p.Recorder = r.recorder
	var err error
	if p.Gradients, r.store, err = layOut(r.specs, BucketsFromProto(req.GetBuckets()), r.newStore); err != nil {
		return nil, err
	}
	r.own(r.store)
	p.Buckets = r.store.Buckets
	share, err := fetchBatches(r.station, r.trainer, r.inputs, req)
	if err != nil {
		return nil, err
	}
	r.batches = &counted{Batches: share.Batches}
	p.Batches = r.batches
	r.evaluation = newEvaluation(r.name(), share.HeldOut, inputsFromProto(req.GetModel().GetInputs()), r.recorder)
	p.Evaluation = NewEvaluation(r.evaluation.run)
	dial := func(kind Kind) (*callLink, error) {
		conn, err := dialCompanion(r.station, kind, req.GetCompanions()[string(kind)], reply)
		if err == nil && kind != KindHook {
			r.own(conn)
			err = offerMemory(r.station, conn, callMemory(share.Sizes, req.GetModel().GetInputs()))
		}
		return conn, err
	}
	if err := r.connectModel(req, dial); err != nil {
		return nil, err
	}
	if err := r.connectCriterion(dial); err != nil {
		return nil, err
	}
	if err := r.connectHook(req, dial); err != nil {
		return nil, err
	}
	if p.Tables, err = r.joinTables(req); err != nil {
		return nil, err
	}
	for _, part := range []any{r.trainer, p.Model, p.Criterion, p.Hook} {
		facts(reply.Facts, part)
	}
	return reply, errorOf(r.title(), "Attach", r.trainer.Attach(*p))
}

func (r *trainerRole) connectModel(req *proto.ConnectRequest, dial func(Kind) (*callLink, error)) error {
	p := &r.parts
	if r.model != nil {
		p.Values = newValues(r.specs)
	} else {
		conn, err := dial(KindModel)
		if err != nil {
			return err
		}
		if p.Values, err = r.offerParameters(conn); err != nil {
			return err
		}
		var mapped *comm.Store
		if r.transport() == comm.Shm {
			mapped = r.store
		}
		r.model = newRemote(conn, mapped, req.GetModel(), r.timeout)
	}
	p.Model = r.model
	return r.model.Bind(p.Values, p.Gradients)
}

// offerParameters allocates the parameters. On Shm it passes them and the gradients
// to the companion that holds the model.
func (r *trainerRole) offerParameters(conn *callLink) ([]tensor.Tensor, error) {
	if r.transport() != comm.Shm {
		return newValues(r.specs), nil
	}
	if err := conn.SendStore(r.store); err != nil {
		return nil, err
	}
	segment, err := shm.New(r.name()+" parameters", valuesBytes(r.specs), true)
	if err != nil {
		return nil, err
	}
	r.own(segment)
	return viewValues(segment.Bytes(), r.specs), conn.SendSegment(segment)
}

func (r *trainerRole) connectCriterion(dial func(Kind) (*callLink, error)) (err error) {
	if choice := r.local(KindCriterion); choice != nil {
		r.parts.Criterion, err = buildCriterion(r.station, choice)
		return err
	}
	conn, err := dial(KindCriterion)
	if err != nil {
		return err
	}
	r.parts.Criterion = newRemoteCriterion(conn, r.timeout)
	return nil
}

func (r *trainerRole) connectHook(req *proto.ConnectRequest, dial func(Kind) (*callLink, error)) error {
	if choice := r.local(KindHook); choice != nil {
		env, err := r.joinLinks(req, r.store)
		if err != nil {
			return err
		}
		r.parts.Links = env.Links
		r.parts.Hook, err = buildHook(r.station, choice, env)
		return err
	}
	conn, err := dial(KindHook)
	if err != nil {
		return err
	}
	link, err := comm.NewServerLink(r.companionTransport(), conn.Conn, r.store, r.timeout)
	if err != nil {
		return err
	}
	r.own(link)
	r.parts.Hook = newRemoteHook(link)
	return nil
}
