package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/plugins"
)

func (a *app) pluginAddCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add PATH [-- ARGUMENT...]",
		Short: "Register a plugin, or accept that it has changed",
		Long: `add starts the plugin at PATH, asks it for its parts, and writes its command,
its checksum and its keys into your registry, registry.json in the folder
psbench of $XDG_CONFIG_HOME (~/.config), which every run reads. From then on
the plugin runs only while its program, interpreters and scripts are unchanged;
add it again to accept a change.`,
		Example: lines(
			"psbench plugin add ./median",
			"psbench plugin add ./median --name trial -- --verbose",
		),
		Args: func(cmd *cobra.Command, args []string) error {
			if before, _ := atDash(cmd, args); len(before) != 1 {
				return usagef("plugin add takes one program, but %s given; arguments of the program follow --",
					given(before))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.userRegistry()
			if err != nil {
				return err
			}
			defer interrupt.Hold(cmd.Context())()
			plugin, parts, err := registry.Add(cmd.Context(), path, psbench.Registry,
				registry.Addition{Name: name, Command: args, Ask: launch.Describe, Internal: plugins.Internal()})
			if err != nil {
				return err
			}
			return a.print(func(p *screen.Page) error {
				listing.Added(p, args[0], plugin, parts)
				return nil
			})
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the plugin; by default the name of the program")
	return cmd
}

// userRegistry returns the path of the user's registry file.
func (a *app) userRegistry() (string, error) {
	path := registry.UserFile(a.environ)
	if path == "" {
		return "", errors.New("there is no folder for your registry: set HOME or XDG_CONFIG_HOME to an absolute path")
	}
	return path, nil
}
