package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/agent/ssh"
	"github.com/psbench/psbench/core/process/launchers"
)

// overHosts has a command run on the hosts of a file. The core is here, the agents are started by ssh.
func (a *app) overHosts(ctx context.Context, f *launchers.Finding, c *config.Config, gpus int, cuda bool, run func() error) error {
	if err := os.Unsetenv(option.SecretVariable); err != nil { // the run has one of its own
		return err
	}
	listen, err := addressHere(c.Interface)
	if err != nil {
		return err
	}
	o := ssh.Options{Command: a.variable(option.SSHVariable), Timeout: time.Duration(c.RPCTimeout) * time.Second, Invitation: ssh.Invitation{
		TimeoutS: c.RPCTimeout, Interface: c.Interface, NoUserRegistry: c.NoUserRegistry, Variables: ssh.Carried(a.environ), CUDA: cuda,
	}}
	if o.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("the path of psbench, which hosts have too, is not known: %w", err)
	}
	for _, file := range c.Registry {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		o.Invitation.Registry = append(o.Invitation.Registry, path)
	}
	meeting, sessions, err := a.meetBySSH(ctx, f.Place, o)
	if err != nil {
		return err
	}
	defer sessions.End()
	hosts, err := agent.Gather(ctx, meeting, o.Timeout)
	if err != nil {
		return err
	}
	sessions.Guard(hosts)
	return a.lead(&team{hosts: hosts, here: f.Place.Host, gpus: gpus, apart: f.Place.Apart, listen: listen}, run)
}

func (a *app) meetBySSH(ctx context.Context, p launchers.Place, o ssh.Options) (*agent.Meeting, *ssh.Sessions, error) {
	defer hold(ctx)()
	defer bounded(ctx)() // by the timeout
	return ssh.Meet(ctx, task(p), p.Others, o)
}

func (a *app) agentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Start processes of a run for another host; run --hosts calls it by ssh",
		Long: `agent is what psbench run --hosts calls on each host, by ssh. It reads from
standard input what it is for, among that the secret of the run, says in a line
who and where it is, and starts, guards and ends the processes of its host as the
core asks. It ends with its standard input. There is nothing to call by hand:
docs/launchers.md has how runs come to several hosts.`,
		Args:   noArguments,
		Hidden: true, // from who looks for something to call
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.agent(cmd) },
	}
}

// agent is the life of one that ssh has started.
func (a *app) agent(cmd *cobra.Command) error {
	ctx := cmd.Context()
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
	asked := config.Layer{Origin: "the core", Values: map[string]any{"no_user_registry": i.NoUserRegistry, "interface": i.Interface}}
	if len(i.Registry) > 0 {
		asked.Values["registry"] = i.Registry
	}
	c, reg, err := a.merge(cmd, asked)
	if err != nil {
		return err
	}
	listen, err := addressHere(c.Interface)
	if err != nil {
		return err
	}
	gpus := 0
	if i.CUDA {
		gpus = a.gpus(ctx)
	}
	name, _ := os.Hostname() // without one it has no name
	me := task(launchers.Place{Rank: i.Rank, Size: i.Size, Host: cmp.Or(name, "a host without a name")})
	m, err := ssh.Join(i, me, listen, a.stdout)
	if err != nil {
		return err
	}
	return a.serve(ctx, m.Listener, reg, agent.Options{
		Identity: m.Identity, Host: placement.Here(me.Host, gpus), Listen: listen.String(), Timeout: time.Duration(i.TimeoutS) * time.Second, Gone: gone,
	})
}
