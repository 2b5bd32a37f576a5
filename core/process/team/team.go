// Package team runs a command on several hosts. The tasks of the command find each other, then one task leads and the
// others serve.
//
// A launcher starts one task of psbench on each host. If the user gives a hosts file, ssh starts the tasks. The first
// task is the core, which runs the command. The other tasks are agents (core/process/agent). Agents start processes on
// their hosts.
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

// Team is the set of hosts on which the core runs a command. A nil Team means the core's host alone.
type Team struct {
	// Interface is the value of the tasks' option interface.
	Interface string

	hosts   []*agent.Host  // hosts with agents
	here    string         // name of the core's host
	gpus    int            // number of devices of the core's host that the command can use
	apart   bool           // the core's host runs no processes of the run
	listen  netip.Addr     // address of the core's host
	meeting *agent.Meeting // meeting with the agents, for runs that the core conducts; nil if it conducts none
}

// lead runs a command on the hosts of a team. Afterwards lead notifies the agents that the core is done.
func (t *Team) lead(run func(*Team) error) error {
	err := run(t)
	if left := agent.Leave(t.hosts, err != nil); err == nil { // if err is set, it has caused the agents' errors
		return left
	}
	return err
}

// Spread sets options so that the processes of a run start on the hosts of the team.
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

// Finder returns the finder for CUDA ranks. If other hosts of the team have devices, the core's host needs none.
func (t *Team) Finder(here *cuda.Finder) config.CUDAFinder {
	if t == nil || !slices.ContainsFunc(t.hosts, func(h *agent.Host) bool { return h.GPUs > 0 }) {
		return here
	}
	return cuda.Elsewhere{Finder: here, Apart: t.apart}
}

// Names returns the names of all hosts. The core's host is first.
func (t *Team) Names() []string {
	names := []string{t.here}
	for _, h := range t.hosts {
		names = append(names, h.Name)
	}
	return names
}

// Present returns an error if an agent is lost, because a run cannot use the agents then.
func (t *Team) Present() error { return agent.Present(t.hosts) }

// callVariable is the variable that gives a conducted run the addresses of the agents. The variable's name must not
// have the prefix of options.
const callVariable = "_PSBENCH_AGENTS"

// Call returns the variable NAME=VALUE with which a conducted run connects to the agents. The value contains the
// secret.
func (t *Team) Call() (pair string, err error) {
	call, err := t.meeting.Call()
	return callVariable + "=" + call, err
}

// Inherited returns the value that Call put into the environment, or "" if no conductor started this process. Child
// processes of this process do not inherit it.
func Inherited() string {
	text := os.Getenv(callVariable)
	_ = os.Unsetenv(callVariable)
	return text
}
