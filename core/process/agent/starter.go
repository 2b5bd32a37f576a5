package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	partproto "github.com/psbench/psbench/sdk/proto"
)

// closeSlack is the time beyond the timeout that an agent may take to end its processes.
const closeSlack = 10 * time.Second

// starter starts each process of a run on the host that the layout gives. starter uses core/process/launch on the
// core's host, and agents on the other hosts.
type starter struct {
	layout    *placement.Layout
	here      cluster.Starter
	listen    string    // IP address on the core's host
	elsewhere []*remote // indexed by the layout's hosts; nil for the core's host if that host has processes
}

// Starter returns a starter for cluster.Options.Open. If the core's host has processes, the layout's first host is the
// core's host, and hosts are the other hosts. Otherwise hosts are all hosts of the layout. Processes on the core's host
// listen on the IP address listen.
func Starter(hosts []*Host, listen string, layout *placement.Layout, timeout time.Duration,
	output launch.Output) (cluster.Starter, error) {
	first := len(layout.Hosts) - len(hosts) // index in the layout of the first host that has an agent
	counts := make([]int, len(layout.Hosts))
	for _, p := range layout.Processes {
		counts[p.Host]++
	}
	processesHere := 0
	if first > 0 {
		processesHere = counts[0]
	}
	here, err := cluster.Here(processesHere, layout, timeout, output)
	if err != nil {
		return nil, err
	}
	s := &starter{layout: layout, here: here, listen: listen, elsewhere: make([]*remote, len(layout.Hosts))}
	for i, h := range hosts {
		if s.elsewhere[first+i], err = open(h, counts[first+i], timeout, output); err != nil {
			return nil, errors.Join(err, s.Close(false))
		}
	}
	return s, nil
}

// of returns the remote run that holds a process, or nil if the process runs on the core's host.
func (s *starter) of(name string) *remote {
	if p, ok := s.layout.Of(name); ok {
		return s.elsewhere[p.Host]
	}
	return nil
}

// Site implements cluster.Starter.
func (s *starter) Site(name string) cluster.Site {
	r := s.of(name)
	if r == nil {
		site := s.here.Site(name)
		site.Listen = s.listen
		return site
	}
	return cluster.Site{Host: r.host.Name, Directory: r.directory, Listen: r.host.Listen, Cores: r.host.CPUs,
		CPUs: s.layout.CPUs(name), Clock: r.clock}
}

// Start implements cluster.Starter.
func (s *starter) Start(ctx context.Context, spec launch.Spec) (cluster.Process, error) {
	site := s.Site(spec.Name)
	r := s.of(spec.Name)
	if r == nil {
		p, err := s.here.Start(ctx, spec)
		if err != nil {
			return nil, s.sited(err)
		}
		return &sited{p, site, s}, nil
	}
	return r.start(ctx, spec, site)
}

// sited is a process on the core's host in a run over several hosts.
type sited struct {
	cluster.Process
	site    cluster.Site
	starter *starter
}

// Site implements cluster.Process.
func (s *sited) Site() cluster.Site { return s.site }

// Death implements cluster.Process.
func (s *sited) Death(phase string) error { return s.starter.sited(s.Process.Death(phase)) }

// sited adds the name of the core's host to an error about the end of a process there.
func (s *starter) sited(err error) error {
	var death *launch.DeathError
	if !errors.As(err, &death) {
		return err
	}
	return launch.DeathElsewhere(s.layout.Hosts[0].Name, death.Error())
}

// Close implements cluster.Starter.
func (s *starter) Close(gently bool) error {
	errs := make([]error, 1+len(s.elsewhere))
	var closing sync.WaitGroup
	for i, r := range s.elsewhere {
		if r != nil {
			closing.Go(func() { errs[i+1] = r.close(gently) })
		}
	}
	errs[0] = s.here.Close(gently)
	closing.Wait()
	return errors.Join(errs...)
}

// remote is the part of a run on a host with an agent.
type remote struct {
	host      *Host
	clock     *clocks.Clock
	directory string
	output    launch.Output
	following sync.WaitGroup
	stop      context.CancelFunc // ends the goroutine that runs follow

	mu        sync.Mutex
	processes map[string]*process
	ended     map[string]bool // processes whose end was reported before start returned
	logs      map[string]*os.File
}

func open(h *Host, processes int, timeout time.Duration, output launch.Output) (*remote, error) {
	alive, leave := h.alive(context.Background())
	defer leave()
	ctx, cancel := context.WithTimeout(alive, h.timeout+closeSlack) // long enough for the previous run to end
	defer cancel()
	reply, err := h.agent.Open(ctx, &proto.OpenRequest{
		TimeoutNs: int64(timeout), Processes: int32(processes), Lines: output.Line != nil, Logs: output.Folder != "", // #nosec G115 -- a count of processes
	})
	if err != nil {
		return nil, h.unopened(err)
	}
	r := &remote{
		host: h, clock: clocks.New(h.now), directory: reply.GetDirectory(), output: output,
		processes: map[string]*process{}, ended: map[string]bool{}, logs: map[string]*os.File{},
	}
	following, stop := h.alive(context.Background())
	r.stop = stop
	stream, err := h.agent.Follow(following, &proto.FollowRequest{})
	if err == nil {
		_, err = stream.Header() // the header shows that the agent has begun to send
	}
	if err != nil {
		stop()
		return nil, h.unopened(err)
	}
	r.following.Go(func() { r.follow(following, stream) })
	return r, nil
}

// unopened returns an error that says why a run could not be opened. If the agent is lost, the loss is the reason.
func (h *Host) unopened(err error) error {
	switch {
	case h.lost() != nil:
		return h.lost()
	case status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("the agent on %s cannot start within %.0f s: an earlier run has not ended", h.Name,
			(h.timeout + closeSlack).Seconds())
	}
	return h.explain("cannot begin", err)
}

// follow receives process output and the ends of processes, until the run is over or the agent is lost.
func (r *remote) follow(ctx context.Context, stream grpc.ServerStreamingClient[proto.Event]) {
	var err error
	for err == nil {
		var e *proto.Event
		if e, err = stream.Recv(); err == nil {
			r.take(e)
		}
	}
	if !errors.Is(err, io.EOF) && ctx.Err() == nil { // the connection was lost
		r.host.die(fmt.Errorf("the agent on %s is gone", r.host.Name))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, p := range r.processes {
		p.end()
		delete(r.processes, name)
	}
	for _, file := range r.logs {
		_ = file.Close()
	}
}

func (r *remote) take(e *proto.Event) {
	switch what := e.GetWhat().(type) {
	case *proto.Event_Line:
		if r.output.Line != nil {
			r.output.Line(e.GetProcess(), what.Line)
		}
	case *proto.Event_Log:
		r.log(e.GetProcess(), what.Log)
	case *proto.Event_Ended:
		r.mu.Lock()
		defer r.mu.Unlock()
		if p := r.processes[e.GetProcess()]; p != nil {
			p.end()
		} else {
			r.ended[e.GetProcess()] = true
		}
	}
}

// log appends text to a process's log file. If writing fails the log ends, as on the core's host.
func (r *remote) log(name string, text []byte) {
	file, known := r.logs[name]
	if !known && filepath.IsLocal(name) {
		file, _ = launch.OpenLog(r.output.Folder, name)
		r.logs[name] = file
	}
	if file != nil {
		_, _ = file.Write(text)
	}
}

// start makes the agent start a process, and connects to the process.
func (r *remote) start(ctx context.Context, spec launch.Spec, site cluster.Site) (cluster.Process, error) {
	files, err := sums(spec.Plugin)
	if err != nil {
		return nil, err
	}
	req := &proto.StartRequest{Name: spec.Name, Plugin: spec.Plugin.Name, Sha256: files, Memory: spec.Plugin.Memory,
		Env: spec.Env}
	for _, cpu := range site.CPUs {
		req.Cpus = append(req.Cpus, int32(cpu)) // #nosec G115 -- a CPU
	}
	ctx, cancel := r.host.alive(ctx)
	defer cancel()
	reply, err := r.host.agent.Start(ctx, req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if status.Code(err) == codes.FailedPrecondition {
			return nil, fmt.Errorf("on %s %s", r.host.Name, status.Convert(err).Message())
		}
		return nil, r.host.explain("does not start "+spec.Name, err)
	}
	p := &process{remote: r, name: spec.Name, site: site, pid: int(reply.GetPid()),
		took: time.Duration(reply.GetTookNs()), contract: reply.GetContract(), exited: make(chan struct{})}
	if p.conn, err = r.host.reach(spec.Name); err != nil {
		return nil, err
	}
	p.PartClient = partproto.NewPartClient(p.conn)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.processes[p.name] = p; r.ended[p.name] {
		p.end()
	}
	return p, nil
}

// close ends the run on the agent's host.
func (r *remote) close(gently bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.host.timeout+closeSlack)
	defer cancel()
	ctx, stop := r.host.alive(ctx)
	defer stop()
	_, err := r.host.agent.Close(ctx, &proto.CloseRequest{Gently: gently})
	if err != nil {
		r.stop()
	}
	r.following.Wait()
	r.stop()
	if r.host.lost() != nil {
		return nil // already reported as the end of the host's processes
	}
	if err != nil {
		return r.host.explain("does not end its processes", err)
	}
	return nil
}
