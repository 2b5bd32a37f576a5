package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/report"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/run"
)

// startedNS is when the process started.
var startedNS = comm.Now()

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an experiment; psbench alone does the same",
		Example: lines(
			"psbench run",
			"psbench run --nserver 0 --ntrainer 4",
			"psbench run --model DummyModelSparse --ddp-hook sparse_rpc --set trainer.lr=0.01",
		),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			exp, opts, err := a.resolve(cmd)
			if err != nil {
				return err
			}
			return a.runExperiment(cmd.Context(), exp, opts)
		},
	}
	a.addFlags(cmd)
	return cmd
}

// runExperiment runs an experiment and reports its result as opts.JSON,
// opts.Stats and opts.Quiet say. What a failed run still has is reported too.
func (a *app) runExperiment(ctx context.Context, exp *config.Experiment, opts config.Options) error {
	if opts.JSON != "" {
		if err := result.CheckWritable(opts.JSON); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	progress := report.NewProgress(a.stderr, isTerminal(a.stderr), opts.Quiet)
	res, err := run.Run(ctx, exp, a.runOptions(progress))
	progress.Done()
	if res == nil {
		return err
	}
	if werr := report.Text(a.stdout, res, report.Options{Stats: opts.Stats}); err == nil {
		err = werr
	}
	if opts.JSON != "" {
		if werr := result.Write(opts.JSON, res); err == nil {
			err = werr
		}
	}
	return err
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // #nosec G115 -- a file descriptor
}
