// Package cuda says which plugin runs the CUDA ranks, and which devices they have.
package cuda

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/registry"
)

// Finder finds what CUDA ranks need. It asks the driver once, again for more ranks, and each program once. The zero
// Finder is ready.
type Finder struct {
	mu       sync.Mutex
	asked    bool
	ranks    int // that it was asked for, as Devices takes them
	list     *devices.List
	err      error
	programs map[string]error // by command, why it cannot be used
}

// Devices are those that the driver shows: at least one, or the error says in one sentence why there is none. Those
// that so many ranks are on say how much of their memory is free, which takes a context on each for a moment.
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

// Plugin is the plugin whose processes are the CUDA ranks: the one that reg calls cuda, or else
// the program psbench-cuda beside this executable, and never what PATH finds. It must be of the
// build that is named, since core and plugin were made of one source. There must be a driver, since the
// program does not start without.
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

// Elsewhere is a Finder for a core whose run goes over several hosts: its own needs no device where the CUDA ranks
// are on others, which look for themselves.
type Elsewhere struct {
	*Finder
	// Apart says that the core's host has no processes of the run, so that it does not matter what it has.
	Apart bool
}

// Devices are those of the core's host, which may be none.
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

// Plugin is that of the Finder. Where there is no device it is not asked what it is, since it does not start:
// hosts compare its files.
func (f Elsewhere) Plugin(ctx context.Context, reg *registry.Registry, build string) (registry.Plugin, error) {
	if list, err := f.Devices(ctx, 0); err == nil && len(list.Devices) == 0 {
		return locate(reg)
	}
	return f.Finder.Plugin(ctx, reg, build)
}
