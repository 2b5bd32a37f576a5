package main

import (
	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
)

func (a *app) pluginDescribeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe KEY",
		Short: "Show a part by its key: its plugin and its settings",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("plugin describe takes one key, but %s given", given(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, reg, err := a.merge(cmd)
			if err != nil {
				return err
			}
			items, err := named(reg, args[0])
			if err != nil {
				return err
			}
			parts := make([]config.Described, len(items))
			for i, item := range items {
				if parts[i], err = config.Describe(cmd.Context(), item, catalogue); err != nil {
					return err
				}
			}
			return a.print(func(p *screen.Page) error { return listing.Parts(p, parts) })
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			_, reg, err := a.merge(cmd)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return reg.AllNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.addFlags(cmd, "registry", "no_user_registry")
	return cmd
}

// named returns the items of all kinds that have the given key or alias.
func named(reg *registry.Registry, key string) ([]registry.Item, error) {
	items, err := reg.Named(key)
	if err == nil && len(items) == 0 {
		err = usagef("unknown key %s%s", quote.String(key),
			spelling.Hint(key, reg.AllNames(), "keys", "psbench list shows all"))
	}
	return items, err
}
