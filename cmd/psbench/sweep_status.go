package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

func (a *app) sweepStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status FOLDER",
		Short: "Show the progress of a sweep, its failures and the processes that run it",
		Long: `status reads the folder of a sweep. It shows how many runs are in each state, why runs
failed, which cells are skipped, which processes run the sweep, and the time left. It
does not disturb those processes.`,
		Example: lines("psbench sweep status study"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("status takes the folder of one sweep, but %s given", given(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			_, err := os.Stat(filepath.Join(args[0], sweep.PlanFile))
			if !sweep.IsSweep(args[0]) && !errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("%s is not the folder of a sweep: it has no %s", quote.Word(args[0]), sweep.PlanFile)
			}
			s, err := conduct.StatusOf(args[0])
			if err != nil {
				return err
			}
			return a.print(func(p *screen.Page) error { return listing.Status(p, args[0], s) })
		},
	}
}
