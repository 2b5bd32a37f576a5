package cluster

import (
	"context"
	"runtime"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launch/limit"
)

// Starter starts and ends the processes of a run. The implementation Here uses core/process/launch on the core's host.
// Other implementations start processes on other hosts.
type Starter interface {
	// Site returns where the named process will run.
	Site(name string) Site
	// Start starts a process and waits until the core can call it. If ctx ends first, Start kills the process. Several
	// calls of Start may run in parallel.
	Start(ctx context.Context, spec launch.Spec) (Process, error)
	// Close ends all processes, waits until they have ended, and removes what they left behind. If gently is set, Close
	// asks each process to end before killing it.
	Close(gently bool) error
}

// Here returns the Starter for the core's host. layout may be nil.
func Here(processes int, layout *placement.Layout, timeout time.Duration, output launch.Output) (Starter, error) {
	if err := limit.Check(processes); err != nil {
		return nil, err
	}
	l, err := launch.New(timeout, output)
	if err != nil {
		return nil, err
	}
	return here{l, layout}, nil
}

// here makes a launch.Launcher a Starter.
type here struct {
	launcher *launch.Launcher
	layout   *placement.Layout
}

// Site implements Starter.
func (h here) Site(name string) Site {
	return Site{Host: CoreHost, Directory: h.launcher.Directory(), Cores: runtime.NumCPU(), CPUs: h.layout.CPUs(name)}
}

// Start implements Starter.
func (h here) Start(ctx context.Context, spec launch.Spec) (Process, error) {
	site := h.Site(spec.Name)
	spec.CPUs = site.CPUs
	p, err := h.launcher.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return hereProcess{p, site}, nil
}

// Close implements Starter.
func (h here) Close(gently bool) error { return h.launcher.Close(gently) }

// hereProcess is a launch.Process with its site.
type hereProcess struct {
	*launch.Process
	site Site
}

// Site implements Process.
func (p hereProcess) Site() Site { return p.site }
