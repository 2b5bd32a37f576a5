package devices

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/psbench/psbench/core/registry"
)

// Finder finds what CUDA ranks need. It asks the driver once, and each program once. The zero Finder
// is ready.
type Finder struct {
	mu       sync.Mutex
	asked    bool
	list     *List
	err      error
	programs map[string]error // by command, why it cannot be used
}

// Devices are those that the driver shows: at least one, or the error says in one sentence why there
// is none.
func (f *Finder) Devices(ctx context.Context) (*List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked {
		list, err := probe(ctx, patience)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the CUDA driver was not asked: %w", context.Cause(ctx))
		}
		f.asked, f.list, f.err = true, list, err
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
