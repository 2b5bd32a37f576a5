package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/launchers"
)

// onOneHost has a command refuse to start where a launcher has started psbench as one of several tasks. Each
// would measure by itself, on cores that all of them use.
func (a *app) onOneHost(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := launchers.Look(a.system("")).Refusal(); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// system is this one, as the detectors of launchers see it.
func (a *app) system(hostsFile string) launchers.System {
	host, _ := os.Hostname() // without one it has no name
	return launchers.System{Environ: a.environ, Host: host, ReadFile: os.ReadFile, HostsFile: hostsFile}
}
