package main

import (
	"context"
	"slices"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/data"
	"github.com/psbench/psbench/plugins/hooks"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/plugins/trainers/batchupdate"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/plugins/trainers/hybrid"
	"github.com/psbench/psbench/sdk"
)

// builtin lists the parts that psbench itself provides.
func builtin() []sdk.Part {
	return slices.Concat(
		ddp.Parts(), hybrid.Parts(), batchupdate.Parts(), servers.Parts(), hooks.Parts(), criteria.Parts(), data.Parts(), models.Parts(),
	)
}

// catalogue says what the parts of a plugin are. Another program has to be
// started to tell.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]config.Description, error) {
	if plugin.Name != registry.Builtin {
		return describe(ctx, plugin)
	}
	var out []config.Description
	for _, p := range builtin() {
		out = append(out, config.Description{Kind: p.Kind, Key: p.Key, Settings: p.Settings})
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
		d := config.Description{Kind: sdk.Kind(p.GetKind()), Key: p.GetKey()}
		for _, s := range p.GetSettings() {
			d.Settings = append(d.Settings, sdk.Setting{
				Name: s.GetName(), Type: s.GetType(), Default: s.GetDefaultJson(), Doc: s.GetDoc(),
			})
		}
		out = append(out, d)
	}
	return out, nil
}
