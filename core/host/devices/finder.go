package devices

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/psbench/psbench/core/plan/registry"
)

// Finder finds what CUDA ranks need. It asks the driver once, again for more ranks, and each program once. The zero Finder
// is ready.
type Finder struct {
	mu       sync.Mutex
	asked    bool
	ranks    int // that it was asked for, as Devices takes them
	list     *List
	err      error
	programs map[string]error // by command, why it cannot be used
}

// Devices are those that the driver shows: at least one, or the error says in one sentence why there
// is none. Those that so many ranks are on say how much of their memory is free, which takes a context on each for a moment.
func (f *Finder) Devices(ctx context.Context, ranks int) (*List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked || f.err == nil && f.ranks < min(ranks, len(f.list.Devices)) {
		list, err := probe(ctx, patience, ranks)
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
