package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

func (a *app) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [KIND|devices]",
		Short: "List kinds and keys, the settings of a kind, and CUDA devices",
		Long: `list shows the keys of every kind with the plugin that provides each. With a
kind it shows the keys of that kind and their settings, which --set kind.setting=value
changes. list devices shows the GPUs that CUDA ranks would run on.`,
		ValidArgs: append(kindNames(), devicesArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("list takes one kind, but %s are given", quote.Message(strings.Join(args, " and ")))
			}
			c, reg, err := a.merge(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.print(func(p *screen.Page) error { return listing.Items(p, reg, registry.Kinds...) })
			}
			if args[0] == devicesArgument {
				return a.listDevices(cmd, reg)
			}
			kind, err := parseKind(args[0])
			if err != nil {
				return err
			}
			return a.listKind(cmd, c, reg, kind)
		},
	}
	a.addFlags(cmd, "config", "registry", "no_user_registry", "model_config_path", "data_config_path")
	return cmd
}

func kindNames() []string {
	var names []string
	for _, kind := range registry.Kinds {
		names = append(names, string(kind))
	}
	return names
}

func parseKind(name string) (sdk.Kind, error) {
	kind := sdk.Kind(strings.ReplaceAll(name, "-", "_"))
	if slices.Contains(registry.Kinds, kind) {
		return kind, nil
	}
	return "", usagef("unknown kind %s%s", quote.String(name),
		spelling.Hint(name, append(kindNames(), devicesArgument), "kinds", "psbench list shows all"))
}

// listKind shows the keys of a kind, their settings, and the configuration IDs. It prints psbench's own parts at
// once. Parts of other plugins follow, because psbench must first ask these plugins.
func (a *app) listKind(cmd *cobra.Command, c *config.Config, reg *registry.Registry, kind sdk.Kind) error {
	ids, err := c.ConfigurationIDs(kind)
	if err != nil {
		return err
	}
	var own, others []registry.Item
	for _, item := range reg.Items(kind) {
		if item.Plugin.Name == registry.Builtin {
			own = append(own, item)
		} else {
			others = append(others, item)
		}
	}
	parts, err := a.describeAll(cmd.Context(), own)
	if err != nil {
		return err
	}
	err = a.print(func(p *screen.Page) error {
		if err := listing.Items(p, reg, kind); err != nil {
			return err
		}
		if err := listing.Services(p, kind, parts); err != nil {
			return err
		}
		listing.IDs(p, kind, ids)
		return listing.Settings(p, kind, parts)
	})
	if err != nil || len(others) == 0 {
		return err
	}
	if parts, err = a.describeAll(cmd.Context(), others); err != nil {
		return err
	}
	return a.print(func(p *screen.Page) error {
		if err := listing.Services(p, kind, parts); err != nil {
			return err
		}
		return listing.Settings(p, kind, parts)
	})
}

// devicesArgument is the argument that makes list show GPUs instead of a kind.
const devicesArgument = "devices"

// listDevices shows the GPUs of this machine. If there are none, it returns the reason as an error.
func (a *app) listDevices(cmd *cobra.Command, reg *registry.Registry) error {
	list, err := a.cuda.Devices(cmd.Context(), 0)
	if err != nil {
		return fmt.Errorf("no CUDA devices: %w", err)
	}
	plugin, err := a.cuda.Plugin(cmd.Context(), reg, result.Build())
	program := "none: " + fmt.Sprint(err)
	if err == nil {
		program = strings.Join(plugin.Command, " ")
	}
	return a.print(func(p *screen.Page) error { return listing.Devices(p, list, program) })
}
