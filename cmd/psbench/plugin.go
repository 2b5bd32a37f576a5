package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/screen"
)

// pluginCommand returns psbench plugin. Its subcommands are in the files plugin_NAME.go.
func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Write, register and check plugins of your own",
		Long: `plugin has what the author of a plugin needs. A plugin is an executable that
provides parts, such as servers, hooks and models, for runs to choose by key.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.pluginAddCommand(),
		a.pluginCheckCommand(),
		a.pluginDescribeCommand(),
		a.pluginDevCommand(),
		a.pluginListCommand(),
		a.pluginNewCommand(),
		a.pluginPythonCommand(),
		a.pluginRemoveCommand(),
	)
	return cmd
}

// atDash splits the arguments at --.
func atDash(cmd *cobra.Command, args []string) (before, after []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}

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
			return a.print(func(p *screen.Page) error {
				listing.Plugins(p, reg)
				return nil
			})
		},
	}
	a.addFlags(cmd, "registry", "no_user_registry")
	return cmd
}

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

// userPlugins completes the first argument with the names of the plugins in the user's registry.
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

func (a *app) pluginPythonCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "python",
		Short: "Print where Python finds the package psbench",
		Long: `python prints the folder in which Python finds the package psbench, with which
plugins in Python are written. This program carries the package and puts it
there, in the folder for caches. Plugins that psbench starts find it by
themselves; it is for tests, editors and help.`,
		Example: lines(
			"PYTHONPATH=$(psbench plugin python) python3 -m unittest",
			"PYTHONPATH=$(psbench plugin python) python3 -c 'help(\"psbench\")'",
		),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			folder, err := launch.PythonFolder()
			if err != nil {
				return fmt.Errorf("cannot find a folder for the Python package psbench: %w", err)
			}
			printf(a.stdout, "%s\n", folder)
			return nil
		},
	}
}
