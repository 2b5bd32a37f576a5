package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/screen"
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
			for _, fault := range reg.Faults() {
				printf(a.stderr, "psbench: warning: %v\n", fault)
			}
			for _, plugin := range reg.Plugins() {
				if err := launch.Unchanged(plugin); plugin.Fault == nil && err != nil {
					printf(a.stderr, "psbench: warning: %v\n", err)
				}
			}
			return a.print(func(p *screen.Page) error { return listPlugins(p, reg) })
		},
	}
	a.addFlags(cmd, "registry", "no_user_registry")
	return cmd
}

func listPlugins(p *screen.Page, reg *registry.Registry) error {
	first := true
	for _, plugin := range reg.Plugins() {
		if plugin.Name == registry.Builtin || plugin.Fault != nil {
			continue
		}
		if !first {
			p.Line(0, "")
		}
		first = false
		identity(p, plugin)
		field(p, "keys", strings.Join(keysOf(reg, plugin), ", "))
	}
	if first {
		p.Text("No plugin is registered beside psbench's own.")
	}
	return nil
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
