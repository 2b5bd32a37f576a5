package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/environment"
	"github.com/psbench/psbench/core/show/live/follow"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/screen"
)

// startedNS is the start time of the process on the clock of comm.Now.
var startedNS = comm.Now()

func (a *app) runCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an experiment; psbench alone does the same",
		Example: lines(
			"psbench run",
			"psbench run --nserver 0 --ntrainer 4",
			"psbench run --model DummyModelSparse --ddp-hook sparse_rpc --set trainer.lr=0.01",
			"psbench run --affinity core --dry-run",
			"psbench run --hosts hosts.txt",
		),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			exp, opts, err := a.resolve(cmd)
			if err != nil {
				return err
			}
			if dryRun {
				return a.printPlacement(exp)
			}
			return a.runExperiment(cmd.Context(), exp, opts)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "start nothing, only show where processes would run")
	return cmd
}

// printPlacement prints the places of an experiment's processes without starting them.
func (a *app) printPlacement(exp *config.Experiment) error {
	var o cluster.Options
	a.team.Spread(&o)
	layout, err := run.Place(exp, o.Hosts)
	if err != nil {
		return err
	}
	if exp.Aggregate && len(layout.Hosts) < 2 {
		return cluster.ErrAggregateOnOneHost
	}
	for _, warning := range slices.Concat(exp.Warnings, layout.Notes) {
		printf(a.stderr, "psbench: warning: %s\n", warning)
	}
	return a.print(func(p *screen.Page) error { return environment.Placement(p, layout) })
}

// runExperiment runs an experiment and writes its tables. Then it calls the functions below to write more.
func (a *app) runExperiment(ctx context.Context, exp *config.Experiment, opts option.Options, below ...func(io.Writer,
	int, *result.Result) error) error {
	if a.lone != "" {
		exp.Warnings = append(exp.Warnings, a.lone)
	}
	o := a.runOptions(nil)
	page, err := follow.NewRun(a.stderr, exp, opts)
	if err != nil {
		return err
	}
	err = carryOut(ctx, a, opts, measurement[*result.Result]{
		pending: run.Pending(exp, o),
		run: func(ctx context.Context, p *progress.Progress, c cluster.Options) (*result.Result, error) {
			o.Progress, o.Options = p, c
			switch {
			case a.beats != nil:
				defer monitor.SendBeats(a.beats, time.Second, p.Beat)()
			case page == nil && opts.Quiet:
				o.Progress = run.Silent // no process has to report its progress
			}
			page.Follow(p)
			return run.Run(ctx, exp, o)
		},
		write: func(w io.Writer, width int, r *result.Result) error {
			err := page.Result(r)
			if werr := report.Text(w,
				r, report.Options{Report: opts.Report, Stats: opts.Stats, Width: width}); err == nil {
				err = werr
			}
			for _, write := range below {
				if err == nil {
					err = write(w, width, r)
				}
			}
			return err
		},
	})
	return errors.Join(err, page.End(ctx, err))
}
