// Package cuda finds the plugin and the devices for the CUDA ranks of a run.
package cuda

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/registry"
)

// Finder finds the plugin and the devices for CUDA ranks. Finder asks the driver once, and again only for more ranks.
// Finder checks each program once. The zero Finder is ready to use.
type Finder struct {
	mu       sync.Mutex
	asked    bool
	ranks    int // number of ranks in the last question to the driver
	list     *devices.List
	err      error
	programs map[string]error // keyed by command: why the program cannot be used
}

// Devices returns the devices that the driver reports. Devices returns at least one device, or an error that says in a
// sentence why there is none. For as many devices as there are ranks, the list contains the free memory. To measure the
// free memory, the driver creates a context on each of these devices for a moment.
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

// Plugin returns the plugin for the CUDA ranks. The plugin is the one named cuda in reg, or else the program
// psbench-cuda in the folder of this executable. Plugin never searches PATH. The plugin must come from the given build,
// because core and plugin must have the same source. There must be a driver, because the program does not start without
// one.
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

// Elsewhere is a Finder for the core of a run over several hosts. The core's host needs no device if the CUDA ranks run
// on other hosts, because those hosts look for their own devices.
type Elsewhere struct {
	*Finder
	// Apart means that the core's host runs no processes of the run, so that its devices do not matter.
	Apart bool
}

// Devices returns the devices of the core's host. The list may be empty.
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

// Plugin returns the same plugin as the Finder. If this host has no device, the program cannot start, so its version is
// not checked. The hosts compare the program's files instead.
func (f Elsewhere) Plugin(ctx context.Context, reg *registry.Registry, build string) (registry.Plugin, error) {
	if list, err := f.Devices(ctx, 0); err == nil && len(list.Devices) == 0 {
		return locate(reg)
	}
	return f.Finder.Plugin(ctx, reg, build)
}
