package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/agent/ssh"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/team"
)

// merger reads a command's configuration from its flags and arguments.
type merger func(cmd *cobra.Command, args []string) (*config.Config, *registry.Registry, error)

// mergeOwn is the merger for commands whose arguments contain no configuration.
func (a *app) mergeOwn(cmd *cobra.Command, _ []string) (*config.Config, *registry.Registry, error) {
	return a.merge(cmd)
}

// onSeveralHosts lets a command run on several hosts. A launcher may start one psbench task per host: the first task
// is the core, and the others are its agents. With a hosts file, psbench starts the agents through ssh.
func (a *app) onSeveralHosts(cmd *cobra.Command, merge merger) *cobra.Command {
	run := cmd.RunE
	var r team.Rendezvous
	addRendezvous(cmd, &r)
	var s submission
	s.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkGiven(cmd.Flags()); err != nil {
			return err
		}
		asked, err := s.asked(cmd.Flags())
		lead := func(t *team.Team) error {
			a.team = t
			return run(cmd, args)
		}
		switch {
		case err != nil:
			return err
		case a.called != "":
			m, err := a.member(cmd, args, merge)
			if err != nil {
				return err
			}
			return m.Conducted(cmd.Context(), a.called, lead)
		case asked && r.HostsFile != "":
			return usagef("--%s has ssh start psbench on hosts, and --%s has slurm: give one of them", team.HostsFlag,
				launcherFlag)
		case asked && r.Flag() != "":
			return usagef("--%s is given, but the tasks that --%s submits find each other without it: leave it out",
				r.Flag(), launcherFlag)
		case asked && !a.submitted:
			return a.submit(cmd, &s, func() (*config.Config, *registry.Registry, error) { return merge(cmd, args) })
		}
		f, err := a.found(r)
		if err != nil {
			return err
		}
		if !f.Place.Several() {
			if a.lone = f.Lone; a.lone != "" {
				printf(a.stderr, "psbench: warning: %s\n", a.lone)
			}
			return run(cmd, args)
		}
		m, err := a.member(cmd, args, merge)
		if err != nil {
			return err
		}
		m.Finding, m.Rendezvous = f, r
		return m.Run(cmd.Context(), lead)
	}
	return cmd
}

// runsOnSeveralHosts does what onSeveralHosts does, for a command whose runs are separate psbench processes. With a
// hosts file, each run starts its own agents. Under a launcher, the other tasks are agents for the whole command, and
// one run after the other connects to them. With --share, each host conducts its own runs.
func (a *app) runsOnSeveralHosts(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	var r team.Rendezvous
	addRendezvous(cmd, &r)
	cmd.Flags().Lookup(team.HostsFlag).Usage = "hosts of every run, one a line of a `FILE`; ssh starts an agent on each"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkGiven(cmd.Flags()); err != nil {
			return err
		}
		share, _ := cmd.Flags().GetBool("share")
		switch {
		case share && r.HostsFile != "":
			return usagef("--share runs whole rounds on this host, but --%s runs each over several hosts: give one of the two",
				team.HostsFlag)
		case share && r.Flag() != "":
			return usagef(
				"--share runs whole rounds on this host, so tasks need not find each other: leave --%s out",
				r.Flag())
		case share || cmd.Flags().Changed(launcherFlag):
			return run(cmd, args)
		}
		f, err := a.found(r)
		if err != nil {
			return err
		}
		if !f.Place.Several() || f.Launcher == launchers.HostsFile {
			return run(cmd, args)
		}
		m, err := a.member(cmd, args, a.mergeOwn)
		if err != nil {
			return err
		}
		m.Finding, m.Rendezvous, m.OnCUDA = f, r, true // some cells may use CUDA
		return m.Run(cmd.Context(), func(t *team.Team) error {
			a.team = t
			return run(cmd, args)
		})
	}
	return cmd
}

// found returns the launcher of this process. It returns an error for flags that do not apply to that launcher.
func (a *app) found(r team.Rendezvous) (*launchers.Finding, error) {
	f := launchers.Look(team.System(a.environ, r.HostsFile))
	if f.Err != nil {
		return nil, f.Refusal()
	}
	if err := r.Unused(f); err != nil {
		return nil, usageError{err}
	}
	return f, nil
}

// member returns this process in its role as a task of the command.
func (a *app) member(cmd *cobra.Command, args []string, merge merger) (*team.Member, error) {
	c, reg, err := merge(cmd, args)
	if err != nil {
		return nil, err
	}
	device, _ := cmd.Flags().GetString("device")
	return &team.Member{
		Environ: a.environ, Config: c, Registry: reg, Report: a.fail,
		CUDA: &a.cuda, OnCUDA: device == "cuda" || c.NCUDATrainer+c.NCUDAServer > 0,
	}, nil
}

// addRendezvous adds the flags that let the tasks of a command find each other.
func addRendezvous(cmd *cobra.Command, r *team.Rendezvous) {
	flags := cmd.Flags()
	flags.StringVar(&r.HostsFile, team.HostsFlag, "",
		"hosts of the run, one a line of a `FILE`; ssh starts an agent on each")
	flags.StringVar(&r.SecretFile, team.SecretFileFlag, "",
		"`FILE` of mode 0600 with the secret that the tasks of a launcher without PMI share; also the value of "+
			option.SecretVariable)
	flags.StringVar(&r.Core, team.CoreFlag, "",
		"`HOST:PORT` where the first task of a launcher without PMI awaits the others; also "+option.CoreVariable)
}

// checkGiven refuses flags with an empty value, e.g. from an unset variable of a script.
func checkGiven(flags *pflag.FlagSet) error {
	for _, name := range []string{team.HostsFlag, team.SecretFileFlag, team.CoreFlag} {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			what := "the name of a file"
			if name == team.CoreFlag {
				what = "HOST:PORT, the address of the first task"
			}
			return usagef("--%s is \"\" but must be %s", name, what)
		}
	}
	return nil
}

func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Start processes of a run for another host; run --hosts calls it by ssh",
		Long: `psbench run --hosts calls agent on each host by ssh; users do not call it. It reads
its task and the secret of the run from standard input, prints a line with its
identity and address, and starts, guards and ends the processes of its host as the
core asks. It ends when its standard input closes. docs/launchers.md explains runs over
several hosts.`,
		Args:   noArguments,
		Hidden: true, // only psbench calls it
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.agent(cmd.Context(), cmd) },
	}
}

// agent serves as the agent that ssh started, until the core disconnects.
func (a *app) agent(ctx context.Context, cmd *cobra.Command) error {
	i, gone, err := ssh.Accept(ctx, os.Stdin)
	if err != nil {
		return err
	}
	for _, v := range i.Variables {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("the variable %s cannot be set: %w", name, err)
		}
	}
	a.environ = os.Environ()
	asked := config.Layer{Origin: "the core",
		Values: map[string]any{"no_user_registry": i.NoUserRegistry, "interface": i.Interface}}
	if len(i.Registry) > 0 {
		asked.Values["registry"] = i.Registry
	}
	m, err := a.member(cmd, nil, func(cmd *cobra.Command, _ []string) (*config.Config, *registry.Registry, error) {
		return a.merge(cmd, asked)
	})
	if err != nil {
		return err
	}
	m.OnCUDA = i.CUDA
	return m.Invited(ctx, i, gone, a.stdout)
}
