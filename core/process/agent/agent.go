package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
)

// Options configures an agent.
type Options struct {
	// Identity is the identity of the secret's holders.
	Identity *identity.Identity
	// Host is the host that the agent runs on. Processes on this host listen on the IP address Listen.
	Host   placement.Host
	Listen string
	// Plugin looks up a plugin in the registry of the agent's host.
	Plugin func(name string) (registry.Plugin, error)
	// Timeout is how long the core may be silent before the agent counts it as lost.
	Timeout time.Duration
	// Gone, if not nil, is closed when the agent learns by other means than the connection that the core is gone.
	Gone <-chan struct{}
}

// ErrFailed means that the core's run failed. The core itself reports why.
var ErrFailed = errors.New("the run of the core failed")

// Serve runs an agent: it carries out the core's calls until the core says that it is done. Serve returns only after
// all processes that it started have ended. If ctx is cancelled, the core gets the time grace to end the run in order.
func Serve(ctx context.Context, l net.Listener, o Options, grace time.Duration) error {
	a := &agent{options: o, left: make(chan error, 1), idle: make(chan struct{}, 1)}
	a.idle <- struct{}{}
	a.heard.Store(time.Now().UnixNano())
	t := newListener(l, o.Identity, a.dial)
	server := grpc.NewServer(grpc.StatsHandler(&callers{agent: a}))
	proto.RegisterAgentServer(server, a)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(t) })
	err := a.wait(ctx, grace)
	a.partFromCore()
	stop := time.AfterFunc(lastReply, server.Stop)
	server.GracefulStop() // so that the core gets its last reply
	stop.Stop()
	_ = t.Close()
	serving.Wait()
	a.ending.Wait()
	if cerr := a.close(nil, false); err == nil {
		err = cerr
	}
	return err
}

// lastReply limits how long the agent may take to send its reply to the core's last call.
const lastReply = time.Second

// agent carries out the calls of one core and of the runs that this core conducts.
type agent struct {
	proto.UnimplementedAgentServer
	options Options
	heard   atomic.Int64   // the core's last call, in ns since 1970
	left    chan error     // receives the reason why the agent ends
	told    atomic.Bool    // the core said that it is done
	idle    chan struct{}  // has room while no run is open
	ending  sync.WaitGroup // goroutines that end runs whose callers have disconnected

	mu    sync.Mutex
	run   *running // nil while no run is open
	owner *caller  // caller that opened the run
	host  string   // the core's host, once the core has called
}

// core returns the rank and, if known, the host of the core. Messages insert it after "the core".
func (a *agent) core() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.host == "" { // the core has not called yet
		return ", rank 0,"
	}
	return ", rank 0 on " + quote.Word(a.host) + ","
}

// leave makes the agent end for the reason why. leave does nothing if the agent is already ending.
func (a *agent) leave(why error) {
	select {
	case a.left <- why:
	default:
	}
}

// partFromCore runs after the core said that it is done. partFromCore waits until the core has read the reply and
// closed the connection. If the agent closed first while data from the core were unread, the kernel would reset the
// connection, and the core could lose the reply.
func (a *agent) partFromCore() {
	if !a.told.Load() {
		return
	}
	select {
	case <-a.left: //nolint:errcheck // the connection has ended, as it should
	case <-time.After(lastReply):
	}
}

// wait blocks until the agent must end. The agent ends when the core is done, is gone or was silent for too long, or
// when the core has not finished within grace after an interrupt.
func (a *agent) wait(ctx context.Context, grace time.Duration) error {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	var late <-chan time.Time
	interrupted := ctx.Done()
	for {
		select {
		case err := <-a.left:
			return err
		case <-a.options.Gone:
			select {
			case err := <-a.left: // the core was done before the interrupt
				return err
			default:
				return fmt.Errorf("the core%s is gone", a.core())
			}
		case <-interrupted:
			interrupted, late = nil, time.After(grace)
		case <-late:
			return context.Cause(ctx)
		case <-tick.C:
			if silent := time.Since(time.Unix(0, a.heard.Load())); silent > a.options.Timeout {
				return fmt.Errorf("the core%s has sent nothing for %.0f s", a.core(), a.options.Timeout.Seconds())
			}
		}
	}
}

// Describe implements proto.AgentServer.
func (a *agent) Describe(_ context.Context, req *proto.DescribeRequest) (*proto.DescribeReply, error) {
	a.mu.Lock()
	a.host = req.GetCore()
	a.mu.Unlock()
	host, err := json.Marshal(a.options.Host)
	return &proto.DescribeReply{Host: host, Cpus: int32(runtime.NumCPU()), Listen: a.options.Listen}, err // #nosec G115 -- a count of CPUs
}

// Beat implements proto.AgentServer.
func (a *agent) Beat(context.Context, *proto.BeatRequest) (*proto.BeatReply, error) {
	a.heard.Store(time.Now().UnixNano())
	return &proto.BeatReply{NowNs: comm.Now()}, nil
}

// Leave implements proto.AgentServer.
func (a *agent) Leave(ctx context.Context, req *proto.LeaveRequest) (*proto.LeaveReply, error) {
	if c := callerOf(ctx); c.conducted {
		return &proto.LeaveReply{}, asStatus(a.close(c, false))
	}
	err := a.close(nil, false)
	if req.GetFailed() {
		err = ErrFailed
	}
	a.told.Store(true)
	a.leave(err)
	return &proto.LeaveReply{}, nil
}

// Open implements proto.AgentServer. If another caller's run is open, Open waits until that run has ended. That caller
// may already have disconnected.
func (a *agent) Open(ctx context.Context, req *proto.OpenRequest) (*proto.OpenReply, error) {
	c := callerOf(ctx)
	if a.owns(c) {
		return nil, asStatus(errors.New("a run is open already"))
	}
	select {
	case <-a.idle:
	case <-ctx.Done():
		return nil, asStatus(errors.New("another run is open"))
	}
	r, err := newRunning(req, a.options.Plugin)
	if err != nil {
		a.idle <- struct{}{}
		return nil, asStatus(err)
	}
	a.mu.Lock()
	a.run, a.owner = r, c
	a.mu.Unlock()
	if ctx.Err() != nil { // the caller may have disconnected before the run existed
		return nil, asStatus(errors.Join(ctx.Err(), a.close(c, false)))
	}
	return &proto.OpenReply{Directory: r.launcher.Directory()}, nil
}

// owns reports whether caller c opened the current run.
func (a *agent) owns(c *caller) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run != nil && a.owner == c
}

// Close implements proto.AgentServer.
func (a *agent) Close(ctx context.Context, req *proto.CloseRequest) (*proto.CloseReply, error) {
	return &proto.CloseReply{}, asStatus(a.close(callerOf(ctx), req.GetGently()))
}

// close ends the open run, if any. If of is not nil, close ends the run only if that caller opened it.
func (a *agent) close(of *caller, gently bool) error {
	a.mu.Lock()
	r := a.run
	if r == nil || of != nil && of != a.owner {
		a.mu.Unlock()
		return nil
	}
	a.run, a.owner = nil, nil
	a.mu.Unlock()
	defer func() { a.idle <- struct{}{} }()
	return r.close(gently)
}

// current returns the open run, or an error if no run is open.
func (a *agent) current() (*running, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == nil {
		return nil, asStatus(errors.New("no run is open"))
	}
	return a.run, nil
}

// Start implements proto.AgentServer.
func (a *agent) Start(ctx context.Context, req *proto.StartRequest) (*proto.StartReply, error) {
	r, err := a.current()
	if err != nil {
		return nil, err
	}
	reply, err := r.start(ctx, req)
	return reply, asStatus(err)
}

// Explain implements proto.AgentServer.
func (a *agent) Explain(_ context.Context, req *proto.ExplainRequest) (*proto.ExplainReply, error) {
	r, err := a.current()
	if err != nil {
		return nil, err
	}
	reply, err := r.explain(req)
	return reply, asStatus(err)
}

// Follow implements proto.AgentServer.
func (a *agent) Follow(_ *proto.FollowRequest, stream grpc.ServerStreamingServer[proto.Event]) error {
	r, err := a.current()
	if err != nil {
		return err
	}
	return r.tell(stream)
}

// dial connects to the Unix socket of a process in the open run.
func (a *agent) dial(name string) (net.Conn, error) {
	r, err := a.current()
	if err != nil {
		return nil, err
	}
	p, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return net.Dial("unix", p.Address())
}

// asStatus converts an error to a gRPC status with the same message. The core shows this message to the user.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.FailedPrecondition, quote.Message(err.Error()))
}
