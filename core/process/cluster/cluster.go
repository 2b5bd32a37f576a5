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

// Options of a run do not change what it measures.
type Options struct {
	// Output says where the output of the processes goes.
	Output launch.Output
	// Ending, if set, is called when a failed run begins to collect and clean up, and done at the end of that. The
	// time in between is bounded by deadlines.
	Ending func() (done func())
	// Closed, if set, gets the numbers of the processes of a successful run, after all parts are closed and before
	// the processes end. Its error becomes the error of the run.
	Closed func(processes []int) error
	// Hosts are the hosts that may run processes, the core's first unless it is Apart from them; empty for the
	// core's host alone.
	Hosts []placement.Host
	Apart bool
	// Layout says where each process runs. The code that plans a run sets it; without it, processes run on the
	// core's host without pinning.
	Layout *placement.Layout
	// Open creates the Starter of the run's processes for the layout. Without it they run on the core's host.
	Open func(layout *placement.Layout, timeout time.Duration, output launch.Output) (Starter, error)
	// Kept means that the result will be stored, so it also gets facts about the machine that take a while to
	// measure after the run.
	Kept bool
}

// Cluster is the set of processes of one run.
type Cluster struct {
	timeout time.Duration // of every wait
	options Options
	secret  []byte // proves that a peer belongs to the run
	members []*Member
	starter Starter
	monitor *monitor.Monitor
	unwatch func() // ends the reading of clocks; nil before it begins
}

// Phase is a step of a run.
type Phase struct {
	Name string
	Do   func(context.Context) error
}

// Life is the course of a run.
type Life struct {
	// Phases run one after the other; the first error ends the run.
	Phases []Phase
	// Tell is called with the name of each phase as it begins.
	Tell func(phase string)
	// Salvage, if set, is called after a failure to fetch the data of the remaining processes.
	Salvage func()
	// Report builds the result after all processes are gone; err says why the run ended early.
	Report func(err error)
}

// New returns a cluster of these processes, none of which runs yet. No wait takes longer than the timeout.
func New[M member](timeout time.Duration, members []M, o Options) *Cluster {
	c := &Cluster{timeout: timeout, options: o, secret: make([]byte, wire.SecretSize)}
	for _, m := range members {
		c.members = append(c.members, m.base())
	}
	return c
}

// Run carries out a life. It returns the failure that explains all others. If no process could be started, it does
// not call Report. When it returns, all processes are gone and nothing of the cluster is left.
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

// numbers returns the process numbers.
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

// Alive reports whether a process recently gave a sign of life.
func (c *Cluster) Alive(m *Member) bool { return c.monitor.Alive(m.Name) }

// Here returns the processes of the run that are now on the core's host, including the core and its supervisor.
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
