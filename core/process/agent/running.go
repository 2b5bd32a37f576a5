package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launch/limit"
	"github.com/psbench/psbench/internal/quote"
)

// mostEvents limits how many events of process output are queued for the core. Further output is dropped with a notice,
// so that a process that prints never waits for the network.
const mostEvents = 4096

// running is one run that an agent carries out.
type running struct {
	launcher *launch.Launcher
	plugin   func(string) (registry.Plugin, error)
	events   chan *proto.Event
	watching sync.WaitGroup // goroutines that wait for the ends of processes

	mu        sync.Mutex
	processes map[string]*launch.Process
	lost      int  // number of dropped events
	closing   bool // no further processes may be watched
	over      bool // no further events will be queued
}

func newRunning(req *proto.OpenRequest, plugin func(string) (registry.Plugin, error)) (*running, error) {
	if err := limit.Check(int(req.GetProcesses())); err != nil {
		return nil, err
	}
	r := &running{plugin: plugin, events: make(chan *proto.Event, mostEvents), processes: map[string]*launch.Process{}}
	var o launch.Output
	if req.GetLines() {
		o.Line = func(process, text string) {
			r.note(&proto.Event{Process: process, What: &proto.Event_Line{Line: strings.ToValidUTF8(text, "?")}})
		}
	}
	if req.GetLogs() {
		o.Log = func(process string) io.WriteCloser { return &log{r, process} }
	}
	var err error
	r.launcher, err = launch.New(time.Duration(req.GetTimeoutNs()), o)
	return r, err
}

// note queues an event. If the queue is full, note drops output, but waits for room for the end of a process.
func (r *running) note(e *proto.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	select {
	case r.events <- e:
	default:
		r.lost++
	}
}

// log queues everything that is appended to a process's log as events for the core.
type log struct {
	run     *running
	process string
}

// Write implements io.Writer.
func (l *log) Write(b []byte) (int, error) {
	l.run.note(&proto.Event{Process: l.process, What: &proto.Event_Log{Log: append([]byte(nil), b...)}})
	return len(b), nil
}

// Close implements io.Closer.
func (l *log) Close() error { return nil }

// start starts a process of a plugin whose files are the same on this host and on the core's host.
func (r *running) start(ctx context.Context, req *proto.StartRequest) (*proto.StartReply, error) {
	plugin, err := r.plugin(req.GetPlugin())
	if err != nil {
		return nil, err
	}
	if err := compare(plugin, req.GetSha256()); err != nil {
		return nil, err
	}
	plugin.Memory = req.GetMemory()
	if err := allowed(req.GetEnv()); err != nil {
		return nil, err
	}
	spec := launch.Spec{Name: req.GetName(), Plugin: plugin, Env: slices.Concat(req.GetEnv(), machine.Kernels())}
	for _, cpu := range req.GetCpus() {
		spec.CPUs = append(spec.CPUs, int(cpu))
	}
	p, err := r.launcher.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing { // closing kills this process too
		return nil, fmt.Errorf("%s was not started: the run is over", p.Name)
	}
	r.processes[p.Name] = p
	r.watching.Go(func() {
		<-p.Exited()
		select {
		case r.events <- &proto.Event{Process: p.Name, What: &proto.Event_Ended{Ended: true}}:
		case <-time.After(time.Second): // no one receives the events any more
		}
	})
	return &proto.StartReply{Pid: int64(p.PID()), TookNs: int64(p.StartTook()), Contract: p.Contract()}, nil
}

// find returns a process of the run by name.
func (r *running) find(name string) (*launch.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[name]
	if p == nil {
		return nil, fmt.Errorf("no process %s was started", quote.Word(name))
	}
	return p, nil
}

func (r *running) explain(req *proto.ExplainRequest) (*proto.ExplainReply, error) {
	p, err := r.find(req.GetName())
	if err != nil {
		return nil, err
	}
	reply := &proto.ExplainReply{LastWords: p.LastWords()}
	reply.Raised, reply.RaisedWhere = p.Raised()
	select {
	case <-p.Exited():
		reply.Death = p.Death(req.GetPhase()).Error()
	default:
	}
	return reply, nil
}

// tell sends events to the core until the run is over and all events are sent.
func (r *running) tell(stream grpc.ServerStreamingServer[proto.Event]) error {
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case e, more := <-r.events:
			if !more {
				return nil
			}
			if err := stream.Send(e); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// close ends all processes, and then sends their last output.
func (r *running) close(gently bool) error {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	err := r.launcher.Close(gently)
	r.watching.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.lost > 0 {
		select {
		case r.events <- &proto.Event{Process: "psbench",
			What: &proto.Event_Line{
				Line: fmt.Sprintf("%d lines of process output came too fast and are lost", r.lost),
			}}:
		default:
		}
	}
	close(r.events)
	return err
}
