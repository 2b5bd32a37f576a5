package trainer

import (
	"context"
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/batches"
	"github.com/psbench/psbench/sdk/host/call"
	"github.com/psbench/psbench/sdk/host/companion"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/host/hosted"
	"github.com/psbench/psbench/sdk/host/inspect"
	"github.com/psbench/psbench/sdk/host/layout"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// Role hosts a trainer and those of its model, criterion and hook that
// live in the same process; the others it reaches through companions.
type Role struct {
	*process.Process
	trainer    sdk.Trainer
	model      sdk.Model // nil until connect if it lives in a companion
	specs      []sdk.ParameterSpec
	inputs     *proto.Inputs // of the data
	parts      sdk.TrainerParts
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
	next   sdk.Key // the iteration that Loss will tell of
	found  inspect.NonFinite
	stop   context.CancelCauseFunc // ends the pass; nil before the first one
}

func New(st *process.Process) (*Role, error) {
	r := &Role{Process: st}
	maps := map[sdk.Kind]string{}
	for k, v := range st.Req.GetMaps() {
		maps[sdk.Kind(k)] = v
	}
	var err error
	r.trainer, err = process.Build[sdk.Trainer](st, st.Req.GetPart(), sdk.TrainerEnv{
		Rank: st.Rank(), Name: st.Name(), Trainers: int(st.Req.GetTrainers()), Epochs: int(st.Req.GetEpochs()), Seed: st.Req.GetSeed(), Server: st.Req.GetServer(), Maps: maps,
	})
	if err != nil {
		return nil, err
	}
	if choice := st.Local(sdk.KindModel); choice != nil {
		r.model, err = hosted.NewModel(st, choice)
	}
	return r, err
}

func (r *Role) DescribeModel() *proto.ModelDescription {
	if r.model == nil {
		return nil
	}
	return convert.ModelToProto(r.model)
}

func (r *Role) Plan(req *proto.PlanRequest) (*proto.PlanReply, error) {
	r.specs = convert.ParametersFromProto(req.GetModel())
	for k := range r.specs {
		if err := layout.CheckShape(&r.specs[k]); err != nil {
			return nil, err
		}
	}
	inputs, err := r.planInputs(convert.InputsFromProto(req.GetModel().GetInputs()), convert.TablesFromProto(req.GetTables()))
	if err != nil {
		return nil, err
	}
	plan, err := r.trainer.Plan(r.specs)
	if err = fault.Of(r.Title(), "Plan", err); err == nil {
		err = layout.CheckPlan(r.specs, plan)
	}
	r.inputs = convert.InputsToProto(inputs)
	return &proto.PlanReply{Buckets: convert.BucketsToProto(plan), Inputs: r.inputs}, err
}

// planInputs are the limits of the data: the model's own unless the trainer looks
// up what the model gets.
func (r *Role) planInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	planner, ok := r.trainer.(sdk.InputPlanner)
	key := r.Req.GetPart().GetKey()
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
	return inputs, fault.Of(r.Title(), "PlanInputs", err)
}

func (r *Role) Connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	reply := &proto.ConnectReply{BoundaryNs: map[string]int64{}, Facts: map[string]string{}}
	p := &r.parts
	p.Recorder = r.Recorder
	var err error
	if p.Gradients, r.store, err = layout.New(r.specs, convert.BucketsFromProto(req.GetBuckets()), r.NewStore); err != nil {
		return nil, err
	}
	r.Own(r.store)
	p.Buckets = r.store.Buckets
	share, err := batches.Fetch(r.Process, r.trainer, r.inputs, req)
	if err != nil {
		return nil, err
	}
	r.batches = &counted{Batches: share.Batches}
	p.Batches = r.batches
	r.evaluation = newEvaluation(r.Name(), share.HeldOut, convert.InputsFromProto(req.GetModel().GetInputs()), r.Recorder)
	p.Evaluation = sdk.NewEvaluation(r.evaluation.run)
	dial := func(kind sdk.Kind) (*call.Link, error) {
		conn, err := companion.Dial(r.Process, kind, req.GetCompanions()[string(kind)], reply)
		if err == nil && kind != sdk.KindHook {
			r.Own(conn)
			err = call.OfferMemory(r.Process, conn, companion.CallMemory(share.Sizes, req.GetModel().GetInputs()))
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
	if p.Tables, err = r.JoinTables(req); err != nil {
		return nil, err
	}
	for _, part := range []any{r.trainer, p.Model, p.Criterion, p.Hook} {
		process.Facts(reply.Facts, part)
	}
	return reply, fault.Of(r.Title(), "Attach", r.trainer.Attach(*p))
}

func (r *Role) connectModel(req *proto.ConnectRequest, dial func(sdk.Kind) (*call.Link, error)) error {
	p := &r.parts
	if r.model != nil {
		p.Values = layout.NewValues(r.specs)
	} else {
		conn, err := dial(sdk.KindModel)
		if err != nil {
			return err
		}
		if p.Values, err = r.offerParameters(conn); err != nil {
			return err
		}
		var mapped *comm.Store
		if r.Fabric.Maps() {
			mapped = r.store
		}
		r.model = companion.NewRemoteModel(conn, mapped, req.GetModel(), r.Timeout)
	}
	p.Model = r.model
	return r.model.Bind(p.Values, p.Gradients)
}

// offerParameters allocates the parameters. In shared memory it passes them and the gradients
// to the companion that holds the model.
func (r *Role) offerParameters(conn *call.Link) ([]tensor.Tensor, error) {
	if !r.Fabric.Maps() {
		return layout.NewValues(r.specs), nil
	}
	if err := r.Fabric.SendStore(conn.Conn, r.store); err != nil {
		return nil, err
	}
	segment, err := shm.New(r.Name()+" parameters", layout.ValuesBytes(r.specs), true)
	if err != nil {
		return nil, err
	}
	r.Own(segment)
	return layout.ViewValues(segment.Bytes(), r.specs), conn.SendSegments(segment)
}

func (r *Role) connectCriterion(dial func(sdk.Kind) (*call.Link, error)) (err error) {
	if choice := r.Local(sdk.KindCriterion); choice != nil {
		r.parts.Criterion, err = hosted.NewCriterion(r.Process, choice)
		return err
	}
	conn, err := dial(sdk.KindCriterion)
	if err != nil {
		return err
	}
	r.parts.Criterion = companion.NewRemoteCriterion(conn, r.Timeout)
	return nil
}

func (r *Role) connectHook(req *proto.ConnectRequest, dial func(sdk.Kind) (*call.Link, error)) error {
	if choice := r.Local(sdk.KindHook); choice != nil {
		env, err := r.JoinLinks(req, r.store)
		if err != nil {
			return err
		}
		r.parts.Links = env.Links
		r.parts.Hook, err = hosted.NewHook(r.Process, choice, env)
		return err
	}
	conn, err := dial(sdk.KindHook)
	if err != nil {
		return err
	}
	link, err := r.Fabric.Companions().NewServerLink(conn.Conn, r.store, r.Timeout)
	if err != nil {
		return err
	}
	r.Own(link)
	r.parts.Hook = companion.NewRemoteHook(link)
	return nil
}
