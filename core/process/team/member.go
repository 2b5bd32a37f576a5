package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/agent/ssh"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
)

// Member is this process as one task of a command on several hosts.
type Member struct {
	// Finding says which launcher started this process, and as which task.
	Finding *launchers.Finding
	// Rendezvous is what the user gave so that the tasks find each other.
	Rendezvous Rendezvous
	// Environ is the environment of psbench.
	Environ []string
	// Config and Registry are the command's.
	Config   *config.Config
	Registry *registry.Registry
	// CUDA finds the devices of this host, and OnCUDA means that the command has CUDA ranks.
	CUDA   *cuda.Finder
	OnCUDA bool
	// Report shows the user a failure before the process ends.
	Report func(error)
}

// ToldError is a failure that this process or the core has already reported to the user.
type ToldError struct{ error }

// Unwrap returns the failure.
func (e ToldError) Unwrap() error { return e.error }

// Run is the life of a task. The core calls run with its team; an agent serves the core until the core is done.
func (m *Member) Run(ctx context.Context, run func(*Team) error) error {
	gpus := m.gpus(ctx)
	if m.Finding.Launcher == launchers.HostsFile {
		return m.overHosts(ctx, gpus, run)
	}
	place := m.Finding.Place
	listen, err := addressHere(m.Config.Interface)
	if err != nil {
		return fmt.Errorf("rank %d on %s: %w", place.Rank, quote.Word(place.Host), err)
	}
	meeting, err := m.meet(ctx, listen)
	switch {
	case errors.As(err, new(ToldError)):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m.linger(ctx, err)
	case errors.Is(err, agent.ErrFailed):
		return ToldError{err} // reported by the core
	case err != nil:
		return err
	case meeting.Listener != nil:
		return m.serve(ctx, meeting.Listener, agent.Options{
			Identity: meeting.Identity, Host: placement.Here(place.Host, gpus), Listen: listen.String(),
			Timeout: m.timeout(),
		})
	}
	hosts, err := agent.Gather(ctx, meeting, m.timeout())
	if err != nil {
		return err
	}
	t := &Team{hosts: hosts, here: place.Host, gpus: gpus, listen: listen, meeting: meeting,
		Interface: m.Config.Interface}
	return t.lead(run)
}

// Conducted runs a run whose conductor holds the agents; call says how to reach them (see Inherited).
func (m *Member) Conducted(ctx context.Context, call string, run func(*Team) error) error {
	meeting, err := agent.Called(call)
	if err != nil {
		return err
	}
	gpus := m.gpus(ctx)
	listen, err := addressHere(m.Config.Interface)
	if err != nil {
		return err
	}
	hosts, err := agent.Gather(ctx, meeting, m.timeout())
	if err != nil {
		return err
	}
	t := &Team{hosts: hosts, here: meeting.Tasks[0].Host, gpus: gpus, listen: listen, Interface: m.Config.Interface}
	return t.lead(run)
}

// Invited is the life of an agent that ssh started. It writes its answer to output and ends when gone is closed.
func (m *Member) Invited(ctx context.Context, i ssh.Invitation, gone <-chan struct{}, output io.Writer) error {
	listen, err := addressHere(m.Config.Interface)
	if err != nil {
		return err
	}
	gpus := m.gpus(ctx)
	name, _ := os.Hostname() // without one it has no name
	me := task(launchers.Place{Rank: i.Rank, Size: i.Size, Host: cmp.Or(name, "a host without a name")})
	meeting, err := ssh.Join(i, me, listen, output)
	if err != nil {
		return err
	}
	return m.serve(ctx, meeting.Listener, agent.Options{
		Identity: meeting.Identity, Host: placement.Here(me.Host, gpus), Listen: listen.String(),
		Timeout: time.Duration(i.TimeoutS) * time.Second, Gone: gone,
	})
}

// interruptGrace is how long an interrupted agent lets the core end the run: launchers interrupt all tasks at once.
const interruptGrace = 20 * time.Second

// serve runs an agent with the plugins of the registry.
func (m *Member) serve(ctx context.Context, l net.Listener, o agent.Options) error {
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // by interruptGrace
	o.Plugin = func(name string) (registry.Plugin, error) {
		if name == cuda.PluginName { // the core may be unable to ask for its build
			return m.CUDA.Plugin(ctx, m.Registry, result.Build())
		}
		plugins := m.Registry.Plugins()
		if i := slices.IndexFunc(plugins, func(p registry.Plugin) bool { return p.Name == name }); i >= 0 {
			return plugins[i], nil
		}
		return registry.Plugin{}, fmt.Errorf("the registry has no plugin %s", name)
	}
	err := agent.Serve(ctx, l, o, interruptGrace)
	if errors.Is(err, agent.ErrFailed) {
		return ToldError{err}
	}
	return err
}

// linger reports that this task timed out and gives the others time to report too: launchers end all tasks when one
// has failed.
func (m *Member) linger(ctx context.Context, err error) error {
	m.Report(err)
	select {
	case <-ctx.Done():
	case <-time.After(1500 * time.Millisecond): // all must end within two seconds after the timeout
	}
	return ToldError{err}
}

func (m *Member) timeout() time.Duration { return time.Duration(m.Config.RPCTimeout) * time.Second }

// gpus counts the CUDA devices of this host for the command. If there are none, the core reports why for its own
// host.
func (m *Member) gpus(ctx context.Context) int {
	if !m.OnCUDA {
		return 0
	}
	defer interrupt.Hold(ctx)()
	list, err := m.CUDA.Devices(ctx, 0)
	if err != nil {
		return 0
	}
	return len(list.Devices)
}

// task describes this process to the other tasks.
func task(p launchers.Place) rollcall.Task {
	me := rollcall.Task{
		Rank: p.Rank, Size: p.Size, Local: p.Local, Host: p.Host, PID: os.Getpid(),
		Version: fmt.Sprintf("%s, commit %s", result.Version(), result.Commit()),
	}
	var err error
	if me.Binary, err = executable.SumOf("/proc/self/exe"); err != nil {
		me.Failure = err.Error()
	}
	return me
}
