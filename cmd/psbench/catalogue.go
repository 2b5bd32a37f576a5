package main

import (
	"context"

	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

// catalogue says what the parts of a plugin are. Another program has to be
// started to tell.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
	if plugin.Name == registry.Builtin {
		return plugins.Builtin(), nil
	}
	defer hold(ctx)()
	said, err := launch.Describe(ctx, plugin)
	return said.Parts, err
}
