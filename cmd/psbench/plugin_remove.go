package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/registry"
)

func (a *app) pluginRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a plugin and its keys out of your registry",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("plugin remove takes one name, but %s given", given(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.userRegistry()
			if err != nil {
				return err
			}
			keys, err := registry.Remove(cmd.Context(), path, args[0])
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				keys = []string{"no key"}
			}
			printf(a.stdout, "plugin %s is removed, with %s\n", args[0], strings.Join(keys, ", "))
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.userPlugins(cmd, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// userPlugins are the names of the plugins of the user's registry, for the first argument.
func (a *app) userPlugins(cmd *cobra.Command, args []string) (names []string) {
	_, reg, err := a.merge(cmd)
	if err != nil || len(args) > 0 {
		return nil
	}
	for _, plugin := range reg.Plugins() {
		if plugin.User {
			names = append(names, plugin.Name)
		}
	}
	return names
}
