package main

import (
	"context"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

// catalogue returns the parts of a plugin. Unless the plugin is psbench's own, catalogue starts the plugin to ask for
// the parts.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
	if plugin.Name == registry.Builtin {
		return plugins.Builtin(), nil
	}
	defer interrupt.Hold(ctx)()
	said, err := launch.Describe(ctx, plugin)
	return said.Parts, err
}

// describeAll asks the plugins of items for their parts. It prints a warning if a plugin does not answer.
func (a *app) describeAll(ctx context.Context, items []registry.Item) ([]config.Described, error) {
	return config.DescribeAll(ctx, items, catalogue,
		func(err error) { printf(a.stderr, "psbench: warning: %v\n", err) })
}
