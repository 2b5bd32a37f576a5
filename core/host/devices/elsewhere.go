package devices

import (
	"context"

	"github.com/psbench/psbench/core/plan/registry"
)

// Elsewhere is a Finder for a core whose run goes over several hosts: its own needs no device where the CUDA ranks
// are on others, which look for themselves.
type Elsewhere struct {
	*Finder
	// Apart says that the core's host has no processes of the run, so that it does not matter what it has.
	Apart bool
}

// Devices are those of the core's host, which may be none.
func (f Elsewhere) Devices(ctx context.Context, ranks int) (*List, error) {
	if f.Apart {
		return &List{}, nil
	}
	list, err := f.Finder.Devices(ctx, ranks)
	if err != nil && ctx.Err() == nil {
		return &List{}, nil
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
