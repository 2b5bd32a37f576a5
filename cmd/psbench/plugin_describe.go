package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
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
			return a.print(func(p *screen.Page) error {
				for i, item := range items {
					if i > 0 {
						p.Line(0, "")
					}
					if err := describe(p, cmd, item); err != nil {
						return err
					}
				}
				return nil
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			_, reg, err := a.merge(cmd)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return keyNames(reg), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.addFlags(cmd, "registry", "no_user_registry")
	return cmd
}

// named are the items with that key or alias, of all kinds.
func named(reg *registry.Registry, key string) (items []registry.Item, err error) {
	for _, kind := range registry.Kinds {
		item, lookupErr := reg.Lookup(kind, key)
		switch {
		case lookupErr == nil:
			items = append(items, item)
		case reg.Broken(kind, key):
			return nil, lookupErr
		}
	}
	if len(items) > 0 {
		return items, nil
	}
	return nil, usagef("unknown key %s%s", quote.String(key),
		spelling.Hint(key, keyNames(reg), "keys", "psbench list shows all"))
}

// keyNames are the keys and aliases of all kinds, each once.
func keyNames(reg *registry.Registry) (names []string) {
	for _, kind := range registry.Kinds {
		names = append(names, reg.Names(kind)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func describe(p *screen.Page, cmd *cobra.Command, item registry.Item) error {
	part, err := descriptionOf(cmd.Context(), item, catalogue)
	if err != nil {
		return err
	}
	field(p, "key", string(item.Kind)+" "+item.Key)
	field(p, "aliases", strings.Join(item.Aliases, ", "))
	field(p, "about", quote.Message(item.Description))
	field(p, "declares", strings.Join(declarations(part), ", "))
	identity(p, item.Plugin)
	if part.Kind == sdk.KindHook || part.Kind == sdk.KindServer && part.Serves == sdk.ServiceGradients {
		field(p, "answers", declared(part))
	}
	var rows [][]string
	for _, s := range part.Settings {
		rows = append(rows, []string{s.Name, s.Type, shortened(string(s.Default)), s.Doc})
	}
	if rows == nil {
		return nil
	}
	p.Line(0, "")
	p.Line(2, "Settings, as in --set "+string(item.Kind)+"."+rows[0][0]+"=value:")
	return p.Grid([]screen.Column{
		screen.Left("setting"), screen.Left("type").Yields(1), screen.Left("default"), screen.Left("description"),
	}, rows, false)
}

// declarations are what a model declares of itself.
func declarations(part sdk.Part) (list []string) {
	if part.Stochastic {
		list = append(list, "stochastic")
	}
	if part.SmallestBatch > 1 {
		list = append(list, fmt.Sprintf("a smallest batch of %d samples", part.SmallestBatch))
	}
	return list
}
