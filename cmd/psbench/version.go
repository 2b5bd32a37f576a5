package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/result"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		Run: func(*cobra.Command, []string) {
			printf(a.stdout, "psbench %s %s %s/%s\n", result.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
