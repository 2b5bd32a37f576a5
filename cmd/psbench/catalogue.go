package main

import (
	"context"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/plugins"
)

// catalogue says what the parts of a plugin are. Another program has to be
// started to tell.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]config.Description, error) {
	parts := plugins.Parts()
	if plugin.Name != registry.Builtin {
		defer hold(ctx)()
		var err error
		if parts, err = launch.Describe(ctx, plugin); err != nil {
			return nil, err
		}
	}
	var out []config.Description
	for _, p := range parts {
		out = append(out, config.Description{
			Kind: p.Kind, Key: p.Key, Settings: p.Settings, Serves: p.Serves, Needs: p.Needs, Links: p.Links,
		})
	}
	return out, nil
}
