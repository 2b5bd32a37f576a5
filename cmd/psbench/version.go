package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/result"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit",
		Args:  noArguments,
		Run: func(*cobra.Command, []string) {
			printf(a.stdout, "psbench %s\n", versionText())
		},
	}
}

// versionText is the version of psbench, its commit, and what it was built with and for.
func versionText() string {
	return fmt.Sprintf("%s, commit %s, %s, %s/%s", result.Version(), result.Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
