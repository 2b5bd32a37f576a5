package main

import (
	"github.com/spf13/cobra"
)

// pluginCommand has its commands in files of their own, plugin_NAME.go.
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

// atDash is what stands before -- on the command line, and what after it.
func atDash(cmd *cobra.Command, args []string) (before, after []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}
