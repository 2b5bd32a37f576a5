package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// runsOnSeveralHosts is onSeveralHosts for a command whose runs are processes of psbench. Over the hosts of a file each
// of them goes by itself. On those on which a launcher has started psbench the others are agents for as long as the
// command lasts, which its runs call one after the other. Those that --share a sweep have a host each for themselves.
func (a *app) runsOnSeveralHosts(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	var j joining
	j.addFlags(cmd)
	cmd.Flags().Lookup(listFlag).Usage = "hosts of every run, one a line of a `FILE`; ssh starts an agent on each"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkGiven(cmd.Flags()); err != nil {
			return err
		}
		share, _ := cmd.Flags().GetBool("share")
		switch {
		case share && j.hosts != "":
			return usagef("--share has this host run whole rounds by itself, but --%s has each run go over several: give one of the two", listFlag)
		case share && j.given() != "":
			return usagef("--share has this host run whole rounds by itself, so that no task seeks another: leave --%s out", j.given())
		case share || cmd.Flags().Changed(launcherFlag):
			return run(cmd, args)
		}
		f := launchers.Look(a.system(j.hosts))
		if f.Err != nil {
			return f.Refusal()
		}
		if err := j.unused(f); err != nil {
			return err
		}
		if !f.Place.Several() || f.Launcher == launchers.HostsFile {
			return run(cmd, args)
		}
		c, reg, err := a.merge(cmd)
		if err != nil {
			return err
		}
		return a.together(cmd.Context(), f, &j, c, reg, a.gpus(cmd.Context()), func() error { return run(cmd, args) })
	}
	return cmd
}

// hostsOf are the hosts over which the runs of a command go, a line each as files of hosts have it, and whether there
// are some beside this one.
func (a *app) hostsOf(cmd *cobra.Command) (lines []string, across bool, err error) {
	if t := a.team; t != nil {
		lines = append(lines, t.here)
		for _, h := range t.hosts {
			lines = append(lines, h.Name)
		}
		return lines, true, nil
	}
	file, _ := cmd.Flags().GetString(listFlag)
	if file == "" {
		return nil, false, nil
	}
	text, err := readBounded(file)
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s cannot be read: %w", listFlag, quote.Word(file), draft.Cause(err))
	}
	hosts, err := launchers.ParseHosts(string(text))
	if err != nil {
		return nil, false, fmt.Errorf("--%s: %s:%w", listFlag, quote.Word(file), err)
	}
	for _, h := range hosts {
		lines = append(lines, h.String())
	}
	return lines, launchers.Look(a.system(file)).Place.Several(), nil
}

// checkHosts refuses hosts that have one psbench for cells of several.
func checkHosts(p *sweep.Plan) error {
	programs := map[string]bool{}
	for _, i := range p.Running() {
		programs[p.Cells[i].Binary] = true
	}
	i := slices.IndexFunc(p.Hosts, func(line string) bool { return strings.Contains(line, " psbench=") })
	if len(programs) < 2 || i < 0 {
		return nil
	}
	return fmt.Errorf("--%s: %s names one psbench, but the cells have %d, which each host must have at the path that they have here: leave psbench= out", listFlag, p.Hosts[i], len(programs))
}

// checkTasks refuses cells that differ in what the tasks of a launcher have once for all.
func (t *team) checkTasks(p *sweep.Plan, program string) error {
	registry := p.Cells[p.Baseline].Config["registry"]
	for _, i := range p.Running() {
		c := p.Cells[i]
		network, _ := c.Config["interface"].(string) // "" where it is not given
		switch {
		case c.Binary != program:
			return fmt.Errorf("cell %s is run by %s, but the tasks of the launcher are of one psbench, %s: have runs go over hosts by --%s FILE", c.Name, quote.Word(c.Binary), quote.Word(program), listFlag)
		case network != t.config.Interface:
			return fmt.Errorf("cell %s has the interface %q, but the tasks of the launcher have %q: give one to all by --interface", c.Name, network, t.config.Interface)
		case !reflect.DeepEqual(c.Config["registry"], registry):
			return fmt.Errorf("cell %s has other registry files than the baseline, but the tasks of the launcher have the same for all: have runs go over hosts by --%s FILE", c.Name, listFlag)
		}
	}
	return nil
}

// agentsVariable tells a run of the agents that its conductor holds. It does not begin as options do.
const agentsVariable = "_PSBENCH_AGENTS"

// inheritedAgents is what that tells this process. Those that it starts do not inherit it.
func inheritedAgents() string {
	text := os.Getenv(agentsVariable)
	_ = os.Unsetenv(agentsVariable)
	return text
}

// conducting has the runs of a command call the agents that this process holds, if it holds some.
func (a *app) conducting(o *conduct.Options) error {
	t := a.team
	if t == nil {
		return nil
	}
	call, err := t.meeting.Call()
	if err != nil {
		return err
	}
	o.Environ = append(withoutPlaces(o.Environ), agentsVariable+"="+call)
	o.Led = true
	o.Able = func() error { return agent.Present(t.hosts) }
	return nil
}

// underConductor has this process, a run of a command that holds agents, go over their hosts.
func (a *app) underConductor(cmd *cobra.Command, args []string, merge merger, run func(*cobra.Command, []string) error) error {
	meeting, err := agent.Called(a.called)
	if err != nil {
		return err
	}
	c, _, err := merge(cmd, args)
	if err != nil {
		return err
	}
	gpus := 0
	if onCUDA(cmd, c) {
		gpus = a.gpus(cmd.Context())
	}
	listen, err := addressHere(c.Interface)
	if err != nil {
		return err
	}
	hosts, err := agent.Gather(cmd.Context(), meeting, time.Duration(c.RPCTimeout)*time.Second)
	if err != nil {
		return err
	}
	return a.lead(&team{hosts: hosts, here: meeting.Tasks[0].Host, gpus: gpus, listen: listen}, func() error { return run(cmd, args) })
}
