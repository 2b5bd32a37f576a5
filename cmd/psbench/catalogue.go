package main

import (
	"context"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

// catalogue says what the parts of a plugin are. Another program has to be
// started to tell.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]config.Description, error) {
	if plugin.Name != registry.Builtin {
		return describe(ctx, plugin)
	}
	var out []config.Description
	for _, p := range plugins.Parts() {
		out = append(out, config.Description{
			Kind: p.Kind, Key: p.Key, Settings: p.Settings, Serves: p.Serves, Needs: p.Needs, Links: p.Links,
		})
	}
	return out, nil
}

func describe(ctx context.Context, plugin registry.Plugin) ([]config.Description, error) {
	defer hold(ctx)()
	parts, err := launch.Describe(ctx, plugin)
	if err != nil {
		return nil, err
	}
	var out []config.Description
	for _, p := range parts {
		d := config.Description{
			Kind: sdk.Kind(p.GetKind()), Key: p.GetKey(), Serves: sdk.Service(p.GetServes()), Needs: sdk.Service(p.GetNeeds()),
		}
		for _, link := range p.GetLinks() {
			d.Links = append(d.Links, sdk.Link(link))
		}
		for _, s := range p.GetSettings() {
			d.Settings = append(d.Settings, sdk.Setting{
				Name: s.GetName(), Type: s.GetType(), Default: s.GetDefaultJson(), Doc: s.GetDoc(),
			})
		}
		out = append(out, d)
	}
	return out, nil
}
