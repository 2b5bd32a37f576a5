package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Options configures a run without changing what the run measures.
type Options struct {
	// Output says where the output of the processes goes.
	Output launch.Output
	// Ending, if set, is called when a failed run starts to salvage data and clean up. The run calls done when it has
	// finished. Deadlines limit the time between both calls.
	Ending func() (done func())
	// Closed, if set, is called after a successful run, once all parts are closed and before the processes end. The
	// argument of Closed holds the process IDs. If Closed returns an error, the run fails with it.
	Closed func(processes []int) error
	// Hosts are the hosts that may run processes. The core's host comes first, unless Apart is set, which means that
	// the core's host runs no processes. Empty means the core's host alone.
	Hosts []placement.Host
	Apart bool
	// Layout says where each process runs. The code that plans a run sets Layout. If Layout is nil, all processes run
	// on the core's host without pinning.
	Layout *placement.Layout
	// Open creates the Starter for the layout. If Open is nil, all processes run on the core's host.
	Open func(layout *placement.Layout, timeout time.Duration, output launch.Output) (Starter, error)
	// Kept means that the result will be stored. The result then also contains facts about the machine that take a
	// while to measure after the run.
	Kept bool
}

// Cluster is the set of processes of one run.
type Cluster struct {
	timeout time.Duration // limit of every wait
	options Options
	secret  []byte // proves that a peer belongs to this run
	members []*Member
	starter Starter
	monitor *monitor.Monitor
	unwatch func() // stops the periodic reading of clocks; nil before watchClocks
}

// Phase is a step of a run.
type Phase struct {
	Name string
	Do   func(context.Context) error
}

// Life is the sequence of a run's phases, with callbacks.
type Life struct {
	// Phases run one after the other; the first error ends the run.
	Phases []Phase
	// Tell is called with the name of each phase when the phase begins.
	Tell func(phase string)
	// Salvage, if set, is called after a failure, to fetch data from the processes that still run.
	Salvage func()
	// Report builds the result after all processes have ended. err is the failure of the run, or nil.
	Report func(err error)
}

// New returns a cluster of processes that Run will start. The timeout limits every wait.
func New[M member](timeout time.Duration, members []M, o Options) *Cluster {
	c := &Cluster{timeout: timeout, options: o, secret: make([]byte, wire.SecretSize)}
	for _, m := range members {
		c.members = append(c.members, m.base())
	}
	return c
}

// Run carries out a life. If several failures occur, Run returns the one that caused the others. Run does not call
// Report if it could not start any process. When Run returns, all processes have ended and all resources of the cluster
// are released.
func (c *Cluster) Run(ctx context.Context, life Life) error {
	if _, err := rand.Read(c.secret); err != nil {
		return fmt.Errorf("no random secret for the run: %w", err)
	}
	err := c.open()
	if err != nil {
		return err
	}
	ctx, c.monitor = monitor.New(ctx, c.timeout)
	err = c.phases(ctx, life)
	if cerr := c.settleClocks(ctx, err != nil); err == nil {
		err = cerr
	}
	if err != nil || c.monitor.Blamed() {
		err = c.monitor.Verdict(err)
		if c.options.Ending != nil {
			defer c.options.Ending()()
		}
		if life.Salvage != nil {
			life.Salvage()
		}
	}
	suspects := c.monitor.Suspects()
	failed, err := c.closeParts(err)
	c.monitor.Stop()
	if err == nil && c.options.Closed != nil {
		err = c.options.Closed(c.numbers())
	}
	err = c.introduce(err, append(suspects, failed...))
	if cerr := c.starter.Close(err == nil); err == nil {
		err = cerr
	}
	life.Report(err)
	return err
}

// numbers returns the process IDs of all members.
func (c *Cluster) numbers() (list []int) {
	for _, m := range c.members {
		list = append(list, m.PID())
	}
	return list
}

func (c *Cluster) open() (err error) {
	if c.options.Open != nil {
		c.starter, err = c.options.Open(c.options.Layout, c.timeout, c.options.Output)
	} else {
		c.starter, err = Here(len(c.members), c.options.Layout, c.timeout, c.options.Output)
	}
	if err != nil {
		return err
	}
	for _, m := range c.members {
		m.site = c.starter.Site(m.Name)
	}
	return nil
}

func (c *Cluster) phases(ctx context.Context, life Life) error {
	for _, p := range life.Phases {
		life.Tell(p.Name)
		c.monitor.Phase(p.Name)
		if err := p.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Alive reports whether a process has sent a heartbeat recently.
func (c *Cluster) Alive(m *Member) bool { return c.monitor.Alive(m.Name) }

// Here lists the run's processes that run on the core's host now. The list includes the core and its supervisor.
func (c *Cluster) Here() []noise.Process {
	processes := []noise.Process{{Name: "core", PID: os.Getpid(), Alone: true}}
	if h, ok := c.starter.(here); ok {
		processes = append(processes, noise.Process{Name: "supervisor", PID: h.launcher.Supervisor()})
	}
	for _, m := range AtCore(c.members) {
		if m.Process != nil && m.PID() > 0 && m.PID() != os.Getpid() {
			processes = append(processes, noise.Process{Name: m.Name, PID: m.PID()})
		}
	}
	return processes
}
