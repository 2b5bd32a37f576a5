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

// Options of a run that do not change what it measures.
type Options struct {
	// Output says what becomes of what the processes print.
	Output launch.Output
	// Ending, if set, is called when a run that failed begins to collect what there is and
	// to clean up, and done at its end. It waits meanwhile, but never long: it has deadlines
	// of its own.
	Ending func() (done func())
	// Closed, if set, gets the numbers of the processes of a run that went well, once all parts
	// are closed and before the processes end. Its error is that of the run.
	Closed func(processes []int) error
	// Hosts are those on which processes may run, the core's first unless it is Apart from them; none: the
	// core's alone.
	Hosts []placement.Host
	Apart bool
	// Layout says where each process runs. Who lays the processes of a run out sets it; without
	// one they run on the core's host, wherever the kernel likes.
	Layout *placement.Layout
	// Open makes what starts the run's processes, where the layout has them. Without it they run on
	// the core's host.
	Open func(layout *placement.Layout, timeout time.Duration, output launch.Output) (Starter, error)
	// Kept says that the result is not only shown: then it has what takes a while to find out about
	// the machine, once the run is over.
	Kept bool
}

// Cluster is the processes of one run.
type Cluster struct {
	timeout time.Duration // of every wait
	options Options
	secret  []byte // proves that a peer belongs to the run
	members []*Member
	starter Starter
	monitor *monitor.Monitor
	unwatch func() // ends the reading of clocks; nil before that has begun
}

// Phase is a step of a run.
type Phase struct {
	Name string
	Do   func(context.Context) error
}

// Life is what a run does with its cluster.
type Life struct {
	// Phases run one after the other; the first error ends the run.
	Phases []Phase
	// Tell is told the name of each as it begins.
	Tell func(phase string)
	// Salvage, if set, fetches after a failure what the processes that are left have.
	Salvage func()
	// Report puts the result together, once all processes are gone; err is why the run
	// ended early.
	Report func(err error)
}

// New is a cluster of these processes, none of which runs yet. No wait takes longer than
// the timeout.
func New[M member](timeout time.Duration, members []M, o Options) *Cluster {
	c := &Cluster{timeout: timeout, options: o, secret: make([]byte, wire.SecretSize)}
	for _, m := range members {
		c.members = append(c.members, m.base())
	}
	return c
}

// Run carries a life out. Its error is the failure that explains the others. If nothing
// could be started at all, Report is not called. All processes are gone and nothing of the
// cluster is left when it returns.
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

// numbers are those of the processes.
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

// Alive says whether a process gave a sign of life of late.
func (c *Cluster) Alive(m *Member) bool { return c.monitor.Alive(m.Name) }

// Here are the processes of the run that the core's host has at this moment, the core and
// its supervisor among them.
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
