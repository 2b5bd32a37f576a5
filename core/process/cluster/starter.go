package cluster

import (
	"context"
	"runtime"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launch/limit"
)

// Starter starts the processes of one run and ends them. The one of the core's host is
// core/process/launch; one that starts processes elsewhere is another implementation.
type Starter interface {
	// Site is where the process of this name is to run.
	Site(name string) Site
	// Start starts a process and waits until it can be called. When ctx ends first, the
	// process is killed. Calls may run at once.
	Start(ctx context.Context, spec launch.Spec) (Process, error)
	// Close ends every process, waits for all of them and leaves nothing behind. With
	// gently set, each is asked to end before it is killed.
	Close(gently bool) error
}

// Here makes the starter of the core's host. The layout may be nil.
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

// here is launch as a Starter.
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

// hereProcess is a process of launch in its site.
type hereProcess struct {
	*launch.Process
	site Site
}

// Site implements Process.
func (p hereProcess) Site() Site { return p.site }
