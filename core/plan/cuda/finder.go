// Package cuda finds the plugin and the devices of the CUDA ranks.
package cuda

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/registry"
)

// Finder finds what CUDA ranks need. It asks the driver once, or again for more ranks, and each program once. The
// zero Finder is ready to use.
type Finder struct {
	mu       sync.Mutex
	asked    bool
	ranks    int // the ranks of the last question to the driver
	list     *devices.List
	err      error
	programs map[string]error // by command: why it cannot be used
}

// Devices returns the devices that the driver shows: at least one, or an error that says in a sentence why there is
// none. The devices of this many ranks come with their free memory, which takes a context on each for a moment.
func (f *Finder) Devices(ctx context.Context, ranks int) (*devices.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked || f.err == nil && f.ranks < min(ranks, len(f.list.Devices)) {
		list, err := devices.Probe(ctx, ranks)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the CUDA driver was not asked: %w", context.Cause(ctx))
		}
		f.asked, f.ranks, f.list, f.err = true, ranks, list, err
	}
	return f.list, f.err
}

// Plugin returns the plugin of the CUDA ranks: the one that reg calls cuda, or else the program psbench-cuda beside
// this executable. It never searches PATH. The plugin must come from the given build, because core and plugin need
// the same source. There must be a driver, because the program does not start without one.
func (f *Finder) Plugin(ctx context.Context, reg *registry.Registry, build string) (registry.Plugin, error) {
	p, err := locate(reg)
	if err != nil {
		return p, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	command := strings.Join(p.Command, "\x00")
	err, known := f.programs[command]
	if !known {
		if err = checkBuild(ctx, p, build); ctx.Err() == nil {
			if f.programs == nil {
				f.programs = map[string]error{}
			}
			f.programs[command] = err
		}
	}
	return p, err
}

// Elsewhere is a Finder for the core of a run over several hosts. The core's host needs no device if the CUDA ranks
// run on other hosts, which look for their own.
type Elsewhere struct {
	*Finder
	// Apart means that the core's host has no processes of the run, so its devices do not matter.
	Apart bool
}

// Devices returns the devices of the core's host, possibly none.
func (f Elsewhere) Devices(ctx context.Context, ranks int) (*devices.List, error) {
	if f.Apart {
		return &devices.List{}, nil
	}
	list, err := f.Finder.Devices(ctx, ranks)
	if err != nil && ctx.Err() == nil {
		return &devices.List{}, nil
	}
	return list, err
}

// Plugin returns the Finder's plugin. Without a device the program does not start, so it is not asked for its
// version; hosts compare its files instead.
func (f Elsewhere) Plugin(ctx context.Context, reg *registry.Registry, build string) (registry.Plugin, error) {
	if list, err := f.Devices(ctx, 0); err == nil && len(list.Devices) == 0 {
		return locate(reg)
	}
	return f.Finder.Plugin(ctx, reg, build)
}
