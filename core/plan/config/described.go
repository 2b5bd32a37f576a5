package config

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// DescribeTime limits how long DescribeAll waits for plugins.
const DescribeTime = 5 * time.Second

// Described is an item of the registry, with the part that its plugin declares for it.
type Described struct {
	registry.Item
	Part sdk.Part // zero if the plugin did not answer
}

// Describe asks the plugin of an item for the item's part.
func Describe(ctx context.Context, item registry.Item, catalogue Catalogue) (Described, error) {
	parts, err := catalogue(ctx, item.Plugin)
	if err != nil {
		return Described{Item: item}, err
	}
	part, err := partOf(item, parts)
	return Described{item, part}, err
}

// partOf finds the part of an item in the list of its plugin's parts.
func partOf(item registry.Item, parts []sdk.Part) (sdk.Part, error) {
	for _, part := range parts {
		if part.Kind == item.Kind && part.Key == item.Key {
			return part, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("plugin %s does not provide %s %s, though %s says so",
		item.Plugin.Name, item.Kind, item.Key, item.File)
}

// DescribeAll asks the plugins of all items in parallel, each plugin once. DescribeAll returns the items in their
// order. DescribeAll calls warn for each item whose plugin does not answer within DescribeTime, lacks the part, or
// contradicts the registry file. DescribeAll returns an error only if ctx ends.
func DescribeAll(ctx context.Context, items []registry.Item, catalogue Catalogue, warn func(error)) (
	[]Described, error) {
	limited, cancel := context.WithTimeoutCause(ctx, DescribeTime,
		fmt.Errorf("it did not answer within %g s", DescribeTime.Seconds()))
	defer cancel()
	type answer struct {
		parts []sdk.Part
		err   error
	}
	answers := map[string]*answer{} // keyed by plugin
	var wg sync.WaitGroup
	for _, item := range items {
		if answers[item.Plugin.Name] != nil {
			continue
		}
		said := &answer{}
		answers[item.Plugin.Name] = said
		wg.Go(func() { said.parts, said.err = catalogue(limited, item.Plugin) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	all := make([]Described, len(items))
	for i, item := range items {
		said := answers[item.Plugin.Name]
		d, err := Describe(ctx, item,
			func(context.Context, registry.Plugin) ([]sdk.Part, error) { return said.parts, said.err })
		if err != nil {
			warn(fmt.Errorf("the settings of %s %s of plugin %s are not known: %w", item.Kind, item.Key,
				item.Plugin.Name, err))
		} else if err := CheckDeclared(item, d.Part); err != nil {
			warn(err)
		}
		all[i] = d
	}
	return all, nil
}

// CheckProvided returns an error if a key is unknown or the plugin of its item does not have the part.
func CheckProvided(ctx context.Context, reg *registry.Registry, kind sdk.Kind, key string, catalogue Catalogue) error {
	item, err := reg.Lookup(kind, key)
	if err != nil {
		return err
	}
	parts, err := catalogue(ctx, item.Plugin)
	if err != nil {
		return fmt.Errorf("plugin %s, of %s %s, cannot be asked for its parts: %w", item.Plugin.Name, kind, item.Key,
			err)
	}
	if !slices.ContainsFunc(parts, func(p sdk.Part) bool { return p.Kind == kind && p.Key == item.Key }) {
		return fmt.Errorf("plugin %s has no %s %s, though %s says so", item.Plugin.Name, kind, item.Key, item.File)
	}
	return nil
}
