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

// Member is this process in the role of one task of a command on several hosts.
type Member struct {
	// Finding says which launcher started this process, and which task the process is.
	Finding *launchers.Finding
	// Rendezvous holds the user's options by which the tasks find each other.
	Rendezvous Rendezvous
	// Environ is the environment with which psbench was started.
	Environ []string
	// Config and Registry are the configuration and the registry of the command.
	Config   *config.Config
	Registry *registry.Registry
	// CUDA finds the devices of this host. OnCUDA means that the command has CUDA ranks.
	CUDA   *cuda.Finder
	OnCUDA bool
	// Report shows a failure to the user before the process ends.
	Report func(error)
}

// ToldError wraps a failure that this process or the core has already reported to the user.
type ToldError struct{ error }

// Unwrap returns the failure.
func (e ToldError) Unwrap() error { return e.error }

// Run runs this process as a task until the command has ended. The core calls run with its team. An agent serves the
// core until the core is done.
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
		return ToldError{err} // the core has reported the failure
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

// Conducted calls run for a run that a conductor started. The conductor keeps its connections to the agents. call gives
// their addresses (see Inherited).
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

// Invited runs this process as an agent that ssh started. Invited writes its answer to output and ends when gone is
// closed.
func (m *Member) Invited(ctx context.Context, i ssh.Invitation, gone <-chan struct{}, output io.Writer) error {
	listen, err := addressHere(m.Config.Interface)
	if err != nil {
		return err
	}
	gpus := m.gpus(ctx)
	name, _ := os.Hostname() // if this fails, the name stays empty
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

// interruptGrace is how long an agent keeps running after an interrupt, so that the core can end the run in order.
// Launchers interrupt all tasks at once.
const interruptGrace = 20 * time.Second

// serve runs an agent that starts plugins of the registry.
func (m *Member) serve(ctx context.Context, l net.Listener, o agent.Options) error {
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // interruptGrace limits this
	o.Plugin = func(name string) (registry.Plugin, error) {
		if name == cuda.PluginName { // the core may be unable to ask for this plugin's build
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

// linger reports that this task timed out, and waits so that the other tasks can report too. A launcher ends all tasks
// when one has failed.
func (m *Member) linger(ctx context.Context, err error) error {
	m.Report(err)
	select {
	case <-ctx.Done():
	case <-time.After(1500 * time.Millisecond): // all tasks must end within two seconds after the timeout
	}
	return ToldError{err}
}

func (m *Member) timeout() time.Duration { return time.Duration(m.Config.RPCTimeout) * time.Second }

// gpus returns the number of CUDA devices of this host that the command can use. If there are no devices, only the core
// reports the reason, for its own host.
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

// task returns the description of this process for the other tasks.
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
