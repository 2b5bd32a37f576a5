// Package team is the life of a command on several hosts: how its tasks find each other, who leads, who serves.
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

// Team is the hosts on which the core runs a command. A nil Team is the core's host alone.
type Team struct {
	// Interface is the option of this name that the tasks have.
	Interface string

	hosts   []*agent.Host  // the others
	here    string         // the name of the core's host
	gpus    int            // that the core's host has for the command
	apart   bool           // the core's host has no processes of the run
	listen  netip.Addr     // of the core's host
	meeting *agent.Meeting // where the agents were found, for runs that the core conducts; nil if it conducts none
}

// lead runs a command on the hosts of a team, and then tells the agents that there is no more to do.
func (t *Team) lead(run func(*Team) error) error {
	err := run(t)
	if left := agent.Leave(t.hosts, err != nil); err == nil { // else the agents' errors follow from err
		return left
	}
	return err
}

// Spread has the processes of a run start on the hosts of the team.
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

// Finder returns what finds the needs of CUDA ranks: here, or on the other hosts of the team if these have devices.
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

// Present returns why a run cannot use the agents: one of them is lost.
func (t *Team) Present() error { return agent.Present(t.hosts) }

// callVariable tells a run of the agents that its conductor holds. Variables of options begin otherwise.
const callVariable = "_PSBENCH_AGENTS"

// Call returns the variable by which a run that the core conducts calls the agents. Its value has the secret.
func (t *Team) Call() (pair string, err error) {
	call, err := t.meeting.Call()
	return callVariable + "=" + call, err
}

// Inherited returns the value of that variable, "" if nobody conducts this process. Processes that this one starts do
// not inherit it.
func Inherited() string {
	text := os.Getenv(callVariable)
	_ = os.Unsetenv(callVariable)
	return text
}
