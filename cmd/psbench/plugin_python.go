package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/process/pythonpath"
)

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
			folder, err := pythonpath.Cached()
			if err != nil {
				return fmt.Errorf("the Python package psbench has no place: %w", err)
			}
			printf(a.stdout, "%s\n", folder)
			return nil
		},
	}
}
