package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
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
	res, err := a.measure(ctx, exp, opts)
	if res == nil {
		return err
	}
	if werr := report.Text(a.tables(opts), res, report.Options{Stats: opts.Stats}); err == nil {
		err = werr
	}
	return err
}

// measure runs an experiment and leaves its result where --json says. That comes before the
// tables: who reads those may leave or stop.
func (a *app) measure(ctx context.Context, exp *config.Experiment, opts config.Options) (*result.Result, error) {
	defer hold(ctx)()
	progress := report.NewProgress(a.stderr, isTerminal(a.stderr), opts.Quiet)
	o := a.runOptions(progress)
	o.Ending = func() func() { return bounded(ctx) }
	o.Output = outputOf(progress, opts)
	pending := run.Pending(exp, o)
	if err := announce(opts.JSON, pending); err != nil {
		return nil, err
	}
	res, err := run.Run(ctx, exp, o)
	progress.Done()
	if res == nil {
		pending.Error = err.Error()
		a.leaveFailure(ctx, opts.JSON, pending)
		return nil, err
	}
	if werr := a.save(ctx, opts.JSON, res); err == nil {
		err = werr
	}
	return res, err
}

// outputOf is what becomes of what plugins print.
func outputOf(progress *report.Progress, opts config.Options) launch.Output {
	o := launch.Output{Folder: opts.LogDir}
	if opts.PluginOutput == "show" {
		o.Line = progress.Line
	}
	return o
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // #nosec G115 -- a file descriptor
}
