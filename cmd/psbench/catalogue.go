package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

// catalogue says what the parts of a plugin are. Another program has to be
// started to tell.
func catalogue(ctx context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
	if plugin.Name == registry.Builtin {
		return plugins.Builtin(), nil
	}
	defer interrupt.Hold(ctx)()
	said, err := launch.Describe(ctx, plugin)
	return said.Parts, err
}

// listTime is how long a list waits for plugins to say what their parts are.
const listTime = 5 * time.Second

// described is an item of the registry and what its plugin says of it: nothing where it does not say.
type described struct {
	registry.Item
	part sdk.Part
}

// describeAll asks the plugins of all items at once what these are. One that does not answer in time is a warning;
// the error is that ctx has ended.
func (a *app) describeAll(ctx context.Context, items []described) error {
	limited, cancel := context.WithTimeoutCause(ctx, listTime,
		fmt.Errorf("it did not answer within %g s", listTime.Seconds()))
	defer cancel()
	type answer struct {
		parts []sdk.Part
		err   error
	}
	answers := map[string]*answer{} // by plugin
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
		return context.Cause(ctx)
	}
	for i, d := range items {
		said := answers[d.Plugin.Name]
		items[i] = a.described(ctx, d.Item, func(context.Context, registry.Plugin) ([]sdk.Part, error) {
			return said.parts, said.err
		})
	}
	return nil
}

// described is an item with what a catalogue says of it, or with a warning that it says nothing.
func (a *app) described(ctx context.Context, item registry.Item, of config.Catalogue) described {
	part, err := descriptionOf(ctx, item, of)
	if err != nil {
		printf(a.stderr, "psbench: warning: the settings of %s %s of plugin %s are not known: %v\n", item.Kind,
			item.Key, item.Plugin.Name, err)
	} else if err := config.CheckDeclared(item, part); err != nil {
		printf(a.stderr, "psbench: warning: %v\n", err)
	}
	return described{item, part}
}

func descriptionOf(ctx context.Context, item registry.Item, of config.Catalogue) (sdk.Part, error) {
	parts, err := of(ctx, item.Plugin)
	if err != nil {
		return sdk.Part{}, err
	}
	for _, d := range parts {
		if d.Kind == item.Kind && d.Key == item.Key {
			return d, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("plugin %s does not provide %s %s, though %s says so", item.Plugin.Name, item.Kind,
		item.Key, item.File)
}
