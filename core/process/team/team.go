// Package team runs a command on several hosts: its tasks find each other, one leads and the others serve.
//
// A launcher starts one task of psbench on each host, or ssh starts them for a file of hosts. The first task is the
// core, which runs the command. The others are its agents (core/process/agent), which start processes on their hosts.
package team

import (
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
)

// Team is the set of hosts on which the core runs a command. A nil Team is the core's host alone.
type Team struct {
	// Interface is the tasks' option of this name.
	Interface string

	hosts   []*agent.Host  // the others
	here    string         // the name of the core's host
	gpus    int            // of the core's host, for the command
	apart   bool           // the core's host has no processes of the run
	listen  netip.Addr     // of the core's host
	meeting *agent.Meeting // of the agents, for runs that the core conducts; nil if it conducts none
}

// lead runs a command on the hosts of a team, and then tells the agents that it is done.
func (t *Team) lead(run func(*Team) error) error {
	err := run(t)
	if left := agent.Leave(t.hosts, err != nil); err == nil { // otherwise the agents' errors follow from err
		return left
	}
	return err
}

// Spread makes the processes of a run start on the hosts of the team.
func (t *Team) Spread(o *cluster.Options) {
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

// Finder returns the finder for CUDA ranks: here, or on the other hosts of the team if they have devices.
func (t *Team) Finder(here *cuda.Finder) config.CUDAFinder {
	if t == nil || !slices.ContainsFunc(t.hosts, func(h *agent.Host) bool { return h.GPUs > 0 }) {
		return here
	}
	return cuda.Elsewhere{Finder: here, Apart: t.apart}
}

// Names returns the names of all hosts, the core's first.
func (t *Team) Names() []string {
	names := []string{t.here}
	for _, h := range t.hosts {
		names = append(names, h.Name)
	}
	return names
}

// Present returns an error if an agent is lost, so a run cannot use the agents.
func (t *Team) Present() error { return agent.Present(t.hosts) }

// callVariable tells a run how to reach the agents that its conductor holds. It must not begin like the variables
// of options.
const callVariable = "_PSBENCH_AGENTS"

// Call returns the variable with which a conducted run calls the agents. Its value has the secret.
func (t *Team) Call() (pair string, err error) {
	call, err := t.meeting.Call()
	return callVariable + "=" + call, err
}

// Inherited returns the value of that variable; "" if no conductor started this process. Children of this process
// do not inherit it.
func Inherited() string {
	text := os.Getenv(callVariable)
	_ = os.Unsetenv(callVariable)
	return text
}
