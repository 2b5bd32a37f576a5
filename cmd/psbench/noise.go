package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
)

// noiseFlags are the flags of psbench noise that are not options of a run.
type noiseFlags struct {
	sessions, runs int
	pause          time.Duration
	out, metric    string
	quiet          bool
}

// mostSessions is the upper limit of --sessions.
const mostSessions = 1000

func (a *app) noiseCommand() *cobra.Command {
	f := &noiseFlags{}
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "Measure how much equal runs differ on this machine",
		Long: `noise runs one experiment, which the flags of run choose, on two sides, --runs times each,
with fresh processes. It shows how much the medians of both sides differ: do not believe
a smaller change. With --sessions it does so several times with a pause between, and
shows how much sessions differ. compare needs that for runs that were measured apart.

It writes the numbers to noise.json in the folder --out, and for compare to a file beside
the user's registry. The same command with the same --out goes on where it stopped.
docs/statistics.md explains the numbers.`,
		Example: lines(
			"psbench noise",
			"psbench noise --sessions 5 --pause 10m --out noise",
			"psbench noise --runs 20 --model DLRM --ntrainer 4",
		),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.noise(cmd, f) },
	}
	a.addFlags(cmd, runKeys()...)
	flags := cmd.Flags()
	wholeVar(flags, &f.sessions, "sessions", 1, "`N` groups of runs with a pause between")
	wholeVar(flags, &f.runs, "runs", sweep.DefaultRepeats, "`N` runs on each of the two sides of a session")
	flags.DurationVar(&f.pause, "pause", time.Minute, "`TIME` between sessions")
	flags.StringVar(&f.out, "out", "", "`FOLDER` that keeps the runs")
	flags.StringVar(&f.metric, "metric", model.Throughput, "`NAME` of the metric to show; all metrics are kept")
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress")
	_ = cmd.RegisterFlagCompletionFunc("metric",
		cobra.FixedCompletions(model.MetricNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses values that do not allow a measurement.
func (f *noiseFlags) check() error {
	switch {
	case f.sessions < 1 || f.sessions > mostSessions:
		return usagef("--sessions is %d but must be from 1 to %d", f.sessions, mostSessions)
	case f.runs < 2 || f.runs > sweep.MostRepeats:
		return usagef("--runs is %d but must be from 2 to %d", f.runs, sweep.MostRepeats)
	case f.pause < 0:
		return usagef("--pause is %s but must not be negative", f.pause)
	}
	return nil
}

func (a *app) noise(cmd *cobra.Command, f *noiseFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	metric, err := model.MetricOf(f.metric)
	if err != nil {
		return usageError{fmt.Errorf("--metric: %w", err)}
	}
	p, err := a.plan(cmd, sweep.Alone(f.runs), false)
	if err != nil {
		return err
	}
	defer interrupt.Hold(cmd.Context())()
	dir := f.out
	if dir == "" {
		if dir, err = os.MkdirTemp("", "psbench-noise-*"); err != nil {
			return fmt.Errorf("cannot make a folder for the runs: %w", draft.Cause(err))
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	n := &verdict.Noise{}
	for i := range f.sessions {
		if err := a.session(cmd.Context(), n, p, dir, i, f); err != nil {
			return err
		}
	}
	if err := words.WriteNoise(a.stdout, n, metric, widthOf(a.stdout)); err != nil {
		return err
	}
	return a.keepNoise(n, f.out, len(p.Hosts) == 0)
}

// session adds session i to n. It measures the session first unless an earlier command did.
func (a *app) session(ctx context.Context, n *verdict.Noise, p *sweep.Plan, dir string, i int, f *noiseFlags) error {
	s := conduct.Sessions{Dir: dir, Plan: p, Pause: f.pause}
	if err := s.Wait(ctx, i); err != nil {
		return err
	}
	told := progress.New(a.stderr, a.terminal(a.stderr), f.quiet)
	s.Options = conduct.Options{
		Environ: sweep.WithoutOptions(a.environ),
		Tell: func(news conduct.News) {
			if news.State == journal.Running {
				told.Phase(fmt.Sprintf("session %d of %d: run %d of %d", i+1, f.sessions, news.Number, news.Total))
			}
		},
		Ending: func() func() { return interrupt.Bounded(ctx) },
	}
	err := s.Over(a.team)
	if err == nil {
		err = s.Run(ctx, i)
	}
	told.Done()
	if err != nil {
		return err
	}
	measured, err := model.Load([]string{s.Folder(i)})
	if err != nil {
		return err
	}
	return n.Add(measured)
}

// keepNoise writes the noise to dir, unless dir is "". If alone is true, i.e. the runs used only this host, and there
// are several sessions, it also keeps the noise for psbench compare.
func (a *app) keepNoise(n *verdict.Noise, dir string, alone bool) error {
	if dir != "" {
		if err := n.Write(filepath.Join(dir, verdict.NoiseName)); err != nil {
			return err
		}
	}
	path := verdict.NoiseFile(a.environ)
	if len(n.Sessions) < 2 || path == "" || !alone {
		return nil
	}
	if err := n.Keep(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "psbench compare takes this from %s\n", quote.Word(path))
	return err
}
