package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/core/screen"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) pluginListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins that are registered, and their keys",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, reg, err := a.merge(cmd)
			if err != nil {
				return err
			}
			return a.print(func(p *screen.Page) error { return listPlugins(p, reg) })
		},
	}
	a.addFlags(cmd, "registry")
	return cmd
}

func listPlugins(p *screen.Page, reg *registry.Registry) error {
	var rows [][]string
	for _, plugin := range reg.Plugins() {
		if plugin.Name == registry.Builtin {
			continue
		}
		rows = append(rows, []string{plugin.Name, quote.Word(plugin.Command[0]), strings.Join(keysOf(reg, plugin), ", ")})
	}
	if rows == nil {
		p.Text("No plugin is registered beside psbench's own.")
		return nil
	}
	return p.Grid([]screen.Column{
		screen.Left("plugin"), screen.Left("program").Yields(1), screen.Left("kinds and keys"),
	}, rows, false)
}

// keysOf names the parts of a plugin, each by kind and key.
func keysOf(reg *registry.Registry, plugin registry.Plugin) []string {
	var keys []string
	for _, kind := range registry.Kinds {
		for _, item := range reg.Items(kind) {
			if item.Plugin.Name == plugin.Name {
				keys = append(keys, string(kind)+" "+item.Key)
			}
		}
	}
	return keys
}
