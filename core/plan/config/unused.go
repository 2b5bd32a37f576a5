package config

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// checkUnused finds mistakes in unused parts of the configuration. checkUnused checks configurations and settings of
// parts that were not chosen.
func (r *resolver) checkUnused(ctx context.Context) error {
	for _, kind := range []sdk.Kind{sdk.KindModel, sdk.KindData} {
		if err := r.checkConfigurations(ctx, kind); err != nil {
			return err
		}
	}
	for _, kind := range []sdk.Kind{sdk.KindServer, sdk.KindTrainer} {
		if err := r.checkSettingsFile(ctx, kind); err != nil {
			return err
		}
	}
	if r.servers() > 0 {
		return nil
	}
	item, err := r.registry.Lookup(sdk.KindServer, r.Server)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name("server"), err)
	}
	return r.checkSettings(ctx, item, slices.DeleteFunc(slices.Clone(r.Config.settings), func(a assignment) bool {
		return !a.isFor(sdk.KindServer, item.Key) || a.flag && r.takes != nil
	}))
}

func (r *resolver) checkConfigurations(ctx context.Context, kind sdk.Kind) error {
	byID, err := configurations(kind, r.configurationFile(kind))
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c := byID[id]
		item, err := r.registry.Lookup(kind, c.class)
		if err != nil {
			return fmt.Errorf("%s_class in %s: %w", kind, c.place, err)
		}
		if err := r.checkSettings(ctx, item, assignmentsFrom(kind, c.settings, c.place)); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) checkSettingsFile(ctx context.Context, kind sdk.Kind) error {
	option, file := r.settingsFile(kind)
	if file == "" {
		return nil
	}
	byKey, err := partSettings(file, r.registry, kind)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name(option), err)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		item, err := r.registry.Lookup(kind, key)
		if err != nil {
			return err
		}
		if err := r.checkSettings(ctx, item, byKey[key]); err != nil {
			return err
		}
	}
	return nil
}

// checkSettings checks settings of an item that the run does not use. checkSettings does not start a plugin for this
// purpose alone.
func (r *resolver) checkSettings(ctx context.Context, item registry.Item, settings []assignment) error {
	if _, asked := r.described[item.Plugin.Name]; !asked {
		return nil
	}
	d, err := r.describe(ctx, item)
	if err != nil {
		return err
	}
	_, err = settingsOf(d, settings)
	return err
}
