package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/interfaces"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
)

// team is the other hosts of a command that goes over several.
type team struct {
	hosts  []*agent.Host
	here   string     // the name of this host
	gpus   int        // that it has for the command
	apart  bool       // which has no processes of the run
	listen netip.Addr // of it

	meeting *agent.Meeting // where the hosts' agents were found, for runs that this process conducts
	config  *config.Config // which the tasks have
}

// merger reads the configuration of a command with these arguments.
type merger func(cmd *cobra.Command, args []string) (*config.Config, *registry.Registry, error)

// mergeOwn is for commands whose configuration is in no argument.
func (a *app) mergeOwn(cmd *cobra.Command, _ []string) (*config.Config, *registry.Registry, error) {
	return a.merge(cmd)
}

// onSeveralHosts has a command run on several hosts: on all on which a launcher has started psbench, a task on each,
// the first of which is the core and the others are its agents; or on those of a file, where ssh starts agents.
func (a *app) onSeveralHosts(cmd *cobra.Command, merge merger) *cobra.Command {
	run := cmd.RunE
	var j joining
	j.addFlags(cmd)
	var s submission
	s.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkGiven(cmd.Flags()); err != nil {
			return err
		}
		asked, err := s.asked(cmd.Flags())
		switch {
		case err != nil:
			return err
		case a.called != "":
			return a.underConductor(cmd, args, merge, run)
		case asked && j.hosts != "":
			return usagef("--%s has ssh start psbench on hosts, and --%s has slurm: give one of them", listFlag, launcherFlag)
		case asked && j.given() != "":
			return usagef("--%s is given, but the tasks that --%s submits find each other without it: leave it out", j.given(), launcherFlag)
		case asked && !a.submitted:
			return a.submit(cmd, &s, func() (*config.Config, *registry.Registry, error) { return merge(cmd, args) })
		}
		f := launchers.Look(a.system(j.hosts))
		if f.Err != nil {
			return f.Refusal()
		}
		if err := j.unused(f); err != nil {
			return err
		}
		if !f.Place.Several() {
			if a.lone = f.Lone; a.lone != "" {
				printf(a.stderr, "psbench: warning: %s\n", a.lone)
			}
			return run(cmd, args)
		}
		c, reg, err := merge(cmd, args)
		if err != nil {
			return err
		}
		here, gpus := func() error { return run(cmd, args) }, 0
		cuda := onCUDA(cmd, c)
		if cuda {
			gpus = a.gpus(cmd.Context())
		}
		if f.Launcher == launchers.HostsFile {
			return a.overHosts(cmd.Context(), f, c, gpus, cuda, here)
		}
		return a.together(cmd.Context(), f, &j, c, reg, gpus, here)
	}
	return cmd
}

// onCUDA says whether a command has CUDA ranks.
func onCUDA(cmd *cobra.Command, c *config.Config) bool {
	device, _ := cmd.Flags().GetString("device")
	return device == "cuda" || c.NCUDATrainer+c.NCUDAServer > 0
}

// gpus is how many CUDA devices this host has that its driver shows. Why there is none the core says of its own host.
func (a *app) gpus(ctx context.Context) int {
	defer hold(ctx)()
	list, err := a.cuda.Devices(ctx, 0)
	if err != nil {
		return 0
	}
	return len(list.Devices)
}

// finder finds what CUDA ranks need: on this host, or where hosts of the team have devices, on those.
func (a *app) finder() config.CUDAFinder {
	t := a.team
	if t == nil || !slices.ContainsFunc(t.hosts, func(h *agent.Host) bool { return h.GPUs > 0 }) {
		return &a.cuda
	}
	return cuda.Elsewhere{Finder: &a.cuda, Apart: t.apart}
}

// together is the life of a task: that of the core with run, or that of an agent.
func (a *app) together(ctx context.Context, f *launchers.Finding, j *joining, c *config.Config, reg *registry.Registry, gpus int, run func() error) error {
	timeout := time.Duration(c.RPCTimeout) * time.Second
	listen, err := addressHere(c.Interface)
	if err != nil {
		return fmt.Errorf("rank %d on %s: %w", f.Place.Rank, quote.Word(f.Place.Host), err)
	}
	meeting, err := a.meet(ctx, f, j, listen, timeout)
	var said saidError
	switch {
	case errors.As(err, &said):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a.linger(ctx, err)
	case errors.Is(err, agent.ErrFailed):
		return saidError{err} // by the core
	case err != nil:
		return err
	case meeting.Listener != nil:
		return a.serve(ctx, meeting.Listener, reg, agent.Options{
			Identity: meeting.Identity, Host: placement.Here(f.Place.Host, gpus), Listen: listen.String(), Timeout: timeout,
		})
	}
	hosts, err := agent.Gather(ctx, meeting, timeout)
	if err != nil {
		return err
	}
	return a.lead(&team{hosts: hosts, here: f.Place.Host, gpus: gpus, listen: listen, meeting: meeting, config: c}, run)
}

// lead runs a command on the hosts of a team, which have nothing to do after that.
func (a *app) lead(t *team, run func() error) error {
	a.team = t
	err := run()
	if left := agent.Leave(t.hosts, err != nil); err == nil { // else it is told why already
		return left
	}
	return err
}

// addressHere is the address by which other hosts reach this one.
func addressHere(choice string) (netip.Addr, error) {
	have, err := interfaces.Here()
	if err != nil {
		return netip.Addr{}, err
	}
	if choice != "" {
		ip, err := interfaces.Choose(choice, have)
		if err != nil {
			return ip, fmt.Errorf("--interface %s %w", choice, err)
		}
		return ip, nil
	}
	var named []netip.Addr
	if host, err := os.Hostname(); err == nil {
		texts, _ := net.LookupHost(host) // a name that stands for nothing has no address
		for _, text := range texts {
			if ip, err := netip.ParseAddr(text); err == nil {
				named = append(named, ip)
			}
		}
	}
	return interfaces.Default(named, have), nil
}

// meet has this task find the others.
func (a *app) meet(ctx context.Context, f *launchers.Finding, j *joining, listen netip.Addr, timeout time.Duration) (m *agent.Meeting, err error) {
	talk := func(client *pmi.Client) (err error) {
		m, err = agent.Meet(ctx, client, task(f.Place), listen)
		return err
	}
	switch {
	case f.Speaks():
		if err := os.Unsetenv(option.SecretVariable); err != nil { // the launcher has a better one
			return nil, err
		}
		err = overPMI(ctx, f, timeout, talk)
		return m, err
	case j.given() != "" || a.variable(option.SecretVariable) != "" || !f.SpeaksPMIx() || f.Crowded() != nil:
		return a.join(ctx, j, f, listen, timeout)
	}
	err = overPMIx(ctx, timeout, talk)
	if errors.Is(err, errNoPMIx) {
		return nil, fmt.Errorf("%w (%w)", f.Stranded(), err)
	}
	return m, err
}

// task is what this one tells of itself.
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

// interruptGrace is how long an agent that is told to end lets the core end the run: launchers tell all tasks at once.
const interruptGrace = 20 * time.Second

// serve is the life of an agent, whose plugins are those of a registry.
func (a *app) serve(ctx context.Context, l net.Listener, reg *registry.Registry, o agent.Options) error {
	defer hold(ctx)()
	defer bounded(ctx)() // by interruptGrace
	o.Plugin = func(name string) (registry.Plugin, error) {
		if name == cuda.PluginName { // whose build the core may have no means to ask for
			return a.cuda.Plugin(ctx, reg, result.Build())
		}
		plugins := reg.Plugins()
		if i := slices.IndexFunc(plugins, func(p registry.Plugin) bool { return p.Name == name }); i >= 0 {
			return plugins[i], nil
		}
		return registry.Plugin{}, fmt.Errorf("the registry has no plugin %s", name)
	}
	err := agent.Serve(ctx, l, o, interruptGrace)
	if errors.Is(err, agent.ErrFailed) {
		return saidError{err}
	}
	return err
}

// spread has processes run on the hosts of the team, if there is one.
func (a *app) spread(o *cluster.Options) {
	t := a.team
	if t == nil {
		return
	}
	if o.Apart = t.apart; !t.apart {
		o.Hosts = []placement.Host{placement.Here(t.here, t.gpus)}
	}
	for _, h := range t.hosts {
		o.Hosts = append(o.Hosts, h.Host)
	}
	o.Open = func(layout *placement.Layout, timeout time.Duration, output launch.Output) (cluster.Starter, error) {
		return agent.Starter(t.hosts, t.listen.String(), layout, timeout, output)
	}
}
