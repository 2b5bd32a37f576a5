package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/bench"
	"github.com/psbench/psbench/sdk/host/companion"
	"github.com/psbench/psbench/sdk/host/data"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/host/server"
	"github.com/psbench/psbench/sdk/host/table"
	"github.com/psbench/psbench/sdk/host/trainer"
	"github.com/psbench/psbench/sdk/proto"
)

// service serves the Part service: it becomes one role when it is configured
// and passes every later call on to it.
type service struct {
	proto.UnimplementedPartServer
	parts  []sdk.Part
	events *process.Events

	mu      sync.Mutex
	name    string
	role    role
	station *process.Process

	// recorded is held for reading while what was recorded is sent, which may last, and
	// for writing while it is forgotten.
	recorded sync.RWMutex
	pass     proto.Pass // whose record it is
}

// role is what a process is after Configure. Plan, Deal and Train exist only
// for the roles that implement planner, dealer and runner.
type role interface {
	Connect(*proto.ConnectRequest) (*proto.ConnectReply, error)
	Reset() error
	Collect(send func(*proto.CollectReply) error) error
}

type planner interface {
	Plan(*proto.PlanRequest) (*proto.PlanReply, error)
}

type dealer interface {
	Deal(*proto.DealRequest) (*proto.DealReply, error)
}

type runner interface {
	Train(ctx context.Context, epochs int) (*proto.TrainReply, error)
}

type measurer interface {
	Measure(*proto.MeasureRequest) (*proto.MeasureReply, error)
}

// tableHolder is a role that holds a table.
type tableHolder interface {
	DescribeTable() *proto.Table
}

// modeller is a role that may hold the model; DescribeModel is nil if it does
// not.
type modeller interface {
	DescribeModel() *proto.ModelDescription
}

func newService(parts []sdk.Part) *service {
	return &service{parts: parts, events: process.NewEvents()}
}

// close ends what the role runs and waits for it.
func (p *service) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.station != nil {
		p.station.Close()
		p.station = nil
	}
}

func (p *service) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeReply, error) {
	reply := &proto.DescribeReply{}
	for _, part := range p.parts {
		d := &proto.PartDescription{Kind: string(part.Kind), Key: part.Key, Serves: string(part.Serves), Needs: string(part.Needs)}
		for _, link := range part.Links {
			d.Links = append(d.Links, string(link))
		}
		for _, s := range part.Settings {
			d.Settings = append(d.Settings, &proto.SettingDescription{Name: s.Name, Type: s.Type, DefaultJson: s.Default, Doc: s.Doc})
		}
		reply.Parts = append(reply.Parts, d)
	}
	return reply, nil
}

func (p *service) Configure(_ context.Context, req *proto.ConfigureRequest) (*proto.ConfigureReply, error) {
	useStderr()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.station != nil {
		return nil, asStatus(errors.New("the process is configured already"))
	}
	st, err := process.New(p.parts, req, p.events)
	p.station = st // whatever of it there is ends with the process
	if err != nil {
		return nil, asStatus(err)
	}
	p.name = req.GetName()
	r, err := newRole(st)
	if err != nil {
		return nil, p.status(err)
	}
	p.role = r
	reply := &proto.ConfigureReply{Address: st.Address(), LinkAddress: st.LinkAddress()}
	if m, ok := r.(modeller); ok {
		reply.Model = m.DescribeModel()
	}
	if t, ok := r.(tableHolder); ok {
		reply.Table = t.DescribeTable()
	}
	return reply, nil
}

// realStderr is the standard error before go-plugin puts a pipe of its own in
// its place.
var realStderr = os.Stderr

// useStderr sends all output to the real standard error once the handshake is
// over. Go-plugin would take what a library prints to the real standard output
// for its protocol, and a long line would block the process for good; and of
// what goes through its pipe the last words of a process are lost.
func useStderr() {
	_ = unix.Dup3(int(realStderr.Fd()), 1, 0) // #nosec G115 -- a descriptor
	os.Stdout, os.Stderr = realStderr, realStderr
}

func newRole(st *process.Process) (role, error) {
	switch kind := sdk.Kind(st.Req.GetPart().GetKind()); kind {
	case sdk.KindTrainer:
		return trainer.New(st)
	case sdk.KindServer:
		return newServer(st)
	case sdk.KindData:
		return data.New(st)
	case sdk.KindHook:
		return companion.NewHook(st), nil
	case sdk.KindCriterion:
		return companion.NewCriterion(st), nil
	case sdk.KindModel:
		return companion.NewModel(st)
	case bench.Kind:
		return bench.New(st), nil
	default:
		return nil, fmt.Errorf("kind %q has no process of its own", kind)
	}
}

// newServer makes the role of a server that holds a table or of any other.
func newServer(st *process.Process) (role, error) {
	part, err := st.Find(st.Req.GetPart())
	if err != nil {
		return nil, err
	}
	if part.Serves == sdk.ServiceTables {
		return table.New(st)
	}
	return server.New(st), nil
}

// as returns the process's role as a T, or an error that names the call.
func as[T any](p *service, call string) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.role.(T)
	if !ok {
		return t, asStatus(fmt.Errorf("%s was called on a process that is not ready for it", call))
	}
	return t, nil
}

func (p *service) Plan(_ context.Context, req *proto.PlanRequest) (*proto.PlanReply, error) {
	r, err := as[planner](p, "plan")
	if err != nil {
		return nil, err
	}
	reply, err := r.Plan(req)
	return reply, p.status(err)
}

func (p *service) Deal(_ context.Context, req *proto.DealRequest) (*proto.DealReply, error) {
	r, err := as[dealer](p, "deal")
	if err != nil {
		return nil, err
	}
	reply, err := r.Deal(req)
	return reply, p.status(err)
}

func (p *service) Connect(_ context.Context, req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	r, err := as[role](p, "connect")
	if err != nil {
		return nil, err
	}
	reply, err := r.Connect(req)
	if err == nil {
		p.stopListening()
	}
	return reply, p.status(err)
}

func (p *service) stopListening() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.station != nil {
		p.station.StopListening()
	}
}

func (p *service) Train(ctx context.Context, req *proto.TrainRequest) (*proto.TrainReply, error) {
	r, err := as[runner](p, "train")
	if err != nil {
		return nil, err
	}
	epochs := math.MaxInt
	if req.Epochs != nil {
		epochs = int(req.GetEpochs())
	}
	reply, err := r.Train(ctx, epochs)
	return reply, p.status(err)
}

// Measure times rounds of one operation on a bench process.
func (p *service) Measure(_ context.Context, req *proto.MeasureRequest) (*proto.MeasureReply, error) {
	r, err := as[measurer](p, "measure")
	if err != nil {
		return nil, err
	}
	reply, err := r.Measure(req)
	return reply, asStatus(err)
}

func (p *service) Reset(_ context.Context, req *proto.ResetRequest) (*proto.ResetReply, error) {
	r, err := as[role](p, "reset")
	if err != nil {
		return nil, err
	}
	p.recorded.Lock()
	defer p.recorded.Unlock()
	p.pass = req.GetPass()
	return &proto.ResetReply{}, p.status(r.Reset())
}

// Collect does not wait for a reset, after which there is nothing.
func (p *service) Collect(req *proto.CollectRequest, stream proto.Part_CollectServer) error {
	r, err := as[role](p, "collect")
	if err != nil {
		return err
	}
	if p.recorded.TryRLock() {
		defer p.recorded.RUnlock()
		if p.pass == req.GetPass() {
			err = r.Collect(stream.Send)
		}
	}
	if err != nil {
		return p.status(err)
	}
	return stream.Send(&proto.CollectReply{PeakRssBytes: peakRSSBytes()})
}

func (p *service) Watch(_ *proto.WatchRequest, stream proto.Part_WatchServer) error {
	return p.events.Stream(stream)
}

// status is asStatus of an error of the process's role.
func (p *service) status(err error) error { return asStatus(fault.Told(p.name, err)) }

// asStatus gives err the form in which it reaches the core: a status whose
// detail says who was waited for.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	s := status.New(codes.Unknown, err.Error())
	if detailed, derr := s.WithDetails(fault.ToProto(err)); derr == nil {
		s = detailed
	}
	return s.Err()
}
