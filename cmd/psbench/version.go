package main

import (
	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/record/result"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  noArguments,
		Run: func(*cobra.Command, []string) {
			printf(a.stdout, "psbench %s\n", result.Build())
		},
	}
}
