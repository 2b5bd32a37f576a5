package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/bench"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/data"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/internal/host/trainer"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/proto"
)

// role is the task of a process after Configure.
type role interface {
	Reset() error
	Collect(record.Send) error
}

// runner is a role that runs passes, such as a trainer.
type runner interface {
	Train(ctx context.Context, length stop.Length) (*record.Work, error)
}

// service implements the Part service. Configure gives the process one role, and service passes
// every later call to that role.
type service struct {
	proto.UnimplementedPartServer
	parts  []sdk.Part
	open   engine.Opener
	events *process.Events

	mu      sync.Mutex
	name    string
	role    role
	process *process.Process

	// recorded guards the recorded values. Sending the values takes the read lock and may last long.
	// Clearing the values takes the write lock.
	recorded sync.RWMutex
	pass     record.Pass // the pass of the recorded values
}

func newService(parts []sdk.Part) *service {
	return &service{parts: parts, events: process.NewEvents()}
}

// close ends the role's work and waits for it.
func (p *service) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		p.process.Close()
		p.process = nil
	}
}

// Describe lists the parts of the plugin.
func (p *service) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeReply, error) {
	reply := &proto.DescribeReply{}
	for _, part := range p.parts {
		reply.Parts = append(reply.Parts, convert.PartToProto(part))
	}
	return reply, nil
}

// as returns the process's role as a T, or an error that names the call. The process counts as
// working until the caller calls leave.
func as[T any](p *service, call string) (t T, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.role.(T)
	switch {
	case !ok:
		return t, nil, asStatus(fmt.Errorf("%s was called on a process that is not ready for it", call))
	case !p.process.Working.TryRLock():
		return t, nil, asStatus(p.process.Over())
	}
	return t, p.process.Working.RUnlock, nil
}

// Plan asks a trainer for its buckets, and a process with a hook for the hook's traffic.
func (p *service) Plan(_ context.Context, req *proto.PlanRequest) (*proto.PlanReply, error) {
	r, leave, err := as[role](p, "plan")
	if err != nil {
		return nil, err
	}
	defer leave()
	var plan trainer.Plan
	switch r := r.(type) {
	case *trainer.Role:
		plan, err = r.Plan(convert.ModelFromProto(req.GetModel()), convert.TablesFromProto(req.GetTables()))
	case *companion.HookRole:
		plan.Traffic, err = r.Plan(convert.BucketsFromProto(req.GetBuckets()))
	case *bench.Role:
		plan.Traffic, err = r.Plan(convert.BucketsFromProto(req.GetBuckets()))
	default:
		err = fmt.Errorf("a %T plans nothing", r)
	}
	return &proto.PlanReply{Buckets: convert.BucketsToProto(plan.Buckets), Inputs: convert.InputsToProto(plan.Inputs),
		Traffic: convert.TrafficToProto(plan.Traffic)}, p.status(err)
}

// Partition makes the data process divide the batches among the trainers.
func (p *service) Partition(_ context.Context, req *proto.PartitionRequest) (*proto.PartitionReply, error) {
	r, leave, err := as[*data.Role](p, "partition")
	if err != nil {
		return nil, err
	}
	defer leave()
	partition, err := r.Partition(partitionRequest(req))
	if err != nil {
		return nil, p.status(err)
	}
	return convert.PartitionToProto(partition), nil
}

func partitionRequest(q *proto.PartitionRequest) data.Request {
	req := data.Request{Inputs: convert.InputsFromProto(q.GetInputs()), BatchSize: int(q.GetBatchSize()),
		Part: convert.PeerFromProto(q.GetCompanion())}
	for _, s := range q.GetSets() {
		var set []int
		for _, t := range s.GetTrainers() {
			set = append(set, int(t))
		}
		req.Sets = append(req.Sets, set)
	}
	return req
}

// Train runs one pass on a trainer.
func (p *service) Train(ctx context.Context, req *proto.TrainRequest) (*proto.TrainReply, error) {
	r, leave, err := as[runner](p, "train")
	if err != nil {
		return nil, err
	}
	defer leave()
	work, err := r.Train(ctx, stop.Length{Epochs: int(req.GetEpochs()), Iterations: int(req.GetIterations())})
	return &proto.TrainReply{Work: convert.WorkToProto(work)}, p.status(err)
}

// Bound asks a trainer for its bound. A trainer does not pass this iteration before it knows the
// end of its pass.
func (p *service) Bound(_ context.Context, req *proto.BoundRequest) (*proto.BoundReply, error) {
	r, leave, err := as[*trainer.Role](p, "bound")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &proto.BoundReply{Iterations: r.Bound(time.Duration(req.GetAheadNs()))}, nil
}

// End tells a trainer where its pass ends.
func (p *service) End(_ context.Context, req *proto.EndRequest) (*proto.EndReply, error) {
	r, leave, err := as[*trainer.Role](p, "end")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &proto.EndReply{}, p.status(r.End(req.GetIterations()))
}

// Expect tells a server how many batches its trainers have in the pass.
func (p *service) Expect(_ context.Context, req *proto.ExpectRequest) (*proto.ExpectReply, error) {
	r, leave, err := as[*server.Role](p, "expect")
	if err != nil {
		return nil, err
	}
	defer leave()
	var batches []int
	for _, n := range req.GetBatches() {
		batches = append(batches, int(n))
	}
	return &proto.ExpectReply{}, p.status(r.Expect(batches))
}

// Close closes the parts of the process and reports the goroutines that they left running.
func (p *service) Close(_ context.Context, req *proto.CloseRequest) (*proto.CloseReply, error) {
	p.mu.Lock()
	proc := p.process
	p.mu.Unlock()
	if proc == nil {
		return &proto.CloseReply{}, nil
	}
	if err := proc.CloseParts(time.Duration(req.GetLimitNs())); err != nil {
		return nil, p.status(err)
	}
	return &proto.CloseReply{Left: proc.Left()}, nil
}

// Combine asks a server to combine gradients.
func (p *service) Combine(_ context.Context, req *proto.CombineRequest) (*proto.CombineReply, error) {
	r, leave, err := as[*server.Role](p, "combine")
	if err != nil {
		return nil, err
	}
	defer leave()
	lists, err := convert.CombineFromProto(req)
	if err != nil {
		return nil, p.status(err)
	}
	answers, unknown, err := r.Combine(lists)
	reply := &proto.CombineReply{Unknown: unknown}
	for _, a := range answers {
		reply.Answers = append(reply.Answers, tensor.Float32Bytes(a))
	}
	return reply, p.status(err)
}

// Reset starts a new pass and returns the process to its initial state.
func (p *service) Reset(_ context.Context, req *proto.ResetRequest) (*proto.ResetReply, error) {
	r, leave, err := as[role](p, "reset")
	if err != nil {
		return nil, err
	}
	defer leave()
	p.recorded.Lock()
	defer p.recorded.Unlock()
	p.pass = convert.PassFromProto(req.GetPass())
	p.events.Begin(p.pass)
	err = r.Reset()
	if err == nil {
		err = p.recordedWrongly()
	}
	return &proto.ResetReply{}, p.status(err)
}

// Collect does not wait for a running reset, because the reset would delete the measurements.
func (p *service) Collect(req *proto.CollectRequest, stream proto.Part_CollectServer) error {
	r, leave, err := as[role](p, "collect")
	if err != nil {
		return err
	}
	defer leave()
	send := func(piece record.Piece) error { return stream.Send(convert.PieceToProto(piece)) }
	if p.recorded.TryRLock() {
		defer p.recorded.RUnlock()
		if err := p.recordedWrongly(); err != nil {
			return p.status(err)
		}
		if p.pass == convert.PassFromProto(req.GetPass()) {
			err = r.Collect(send)
		}
	}
	if err != nil {
		return p.status(err)
	}
	return send(record.PeakRSS(peakRSSBytes()))
}

// recordedWrongly returns an error if any part of the process declared or recorded an invalid
// value.
func (p *service) recordedWrongly() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return nil
	}
	if err := p.process.Recorder.Err(); err != nil {
		return &fault.Part{Text: p.process.Title() + ": " + err.Error(), Err: err}
	}
	return nil
}

// status converts an error of the process's role with asStatus.
func (p *service) status(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		_ = p.process.Tells(err)
	}
	return asStatus(fault.Told(p.name, err))
}

// asStatus converts err to a gRPC status for the core. The detail of the status names the peer that
// the process waited for.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	s := status.New(codes.Unknown, err.Error())
	if detailed, derr := s.WithDetails(convert.FailureToProto(fault.Describe(err))); derr == nil {
		s = detailed
	}
	return s.Err()
}
