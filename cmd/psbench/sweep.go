package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/simd"
)

// sweepFlags are the flags of psbench sweep that are not options of a run.
type sweepFlags struct {
	axes          []string
	repeats       int
	out           string
	noAgain       bool
	budget        string
	runTimeout    string
	dryRun, yes   bool
	extend, retry bool
	share         bool
	quiet, live   bool
	job           submission
	answer        studyFlags
}

// sweepOptions control the execution of a sweep.
type sweepOptions struct {
	Extend bool        // accept new cells and repeats
	Retry  bool        // repeat failed runs once
	Share  bool        // work on the sweep together with other psbench processes
	Job    *submission // the job whose nodes share the sweep; nil without a job
	Quiet  bool
	Live   bool
	Answer studyFlags
}

func (a *app) sweepCommand() *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep [FILE|NAME]",
		Short: "Run a matrix of experiments and say what it proves",
		Long: `sweep runs every cell of a matrix --repeats times, in an order that is random within each
round. FILE is a specification of axes in JSON; NAME is a built-in sweep:
` + strings.Join(sweep.Ready(), ", ") + `. With --axis neither is needed. Other flags
apply to all cells. sweep checks everything before it runs anything; the same command
goes on where it stopped. Under a launcher of several tasks, such as srun, and with
--hosts each run uses all hosts; docs/sweeps.md explains it.`,
		Example: lines(
			"psbench sweep servers --dry-run",
			"psbench sweep --axis server=average,average_batch --axis ntrainer=1..8*2 --out sweep",
			"psbench sweep study.json --repeats 20 --out study",
			"psbench sweep study.json --hosts hosts.txt --out study",
			"srun --mpi=pmi2 --nodes 4 --ntasks-per-node 1 psbench sweep study.json --out study",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("sweep takes one specification, but %s given", given(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.quiet, _ = cmd.Flags().GetBool("quiet")
			f.live, _ = cmd.Flags().GetBool("live")
			return a.sweep(cmd, f, args)
		},
		ValidArgs: sweep.Ready(),
	}
	a.addFlags(cmd, runKeys()...)
	f.add(cmd)
	cmd.AddCommand(a.sweepStatusCommand())
	return cmd
}

// runKeys returns the keys of options that choose the experiment, which are all except output options.
func runKeys() (keys []string) {
	for _, o := range option.All() {
		if o.Group != "output" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// add registers the flags on the command.
func (f *sweepFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.axes, "axis", nil,
		"`NAME=VALUE,...` that varies between cells: an option, KIND.SETTING of a part, or build; 1..8*2 is 1,2,4,8")
	wholeVar(flags, &f.repeats, "repeats", sweep.DefaultRepeats, "`N` runs of each cell, each with fresh processes")
	flags.StringVar(&f.out, "out", "", "`FOLDER` of the sweep")
	flags.StringVar(&f.budget, "budget", "",
		"`TIME` for all runs together, as in 8h30m, after which the sweep ends early")
	flags.StringVar(&f.runTimeout, "run-timeout", "",
		"`TIME` for each run, as in 90s; a longer run is ended and counts as failed")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would run")
	flags.BoolVar(&f.yes, "yes", false, fmt.Sprintf("accept more than %d cells, up to %d", sweep.Many, sweep.Most))
	flags.BoolVar(&f.extend, "extend", false, "add new cells and repeats to the sweep in the folder")
	flags.BoolVar(&f.retry, "retry-failed", false, "run failed runs once more")
	flags.BoolVar(&f.share, "share", false,
		"share the sweep with psbench on other hosts that have the folder; each takes whole rounds")
	flags.BoolVar(&f.noAgain, "no-again", false, "run the baseline once in each round, without measuring the noise")
	flags.Bool("quiet", false, "show no progress")
	flags.Bool("live", false, "show the sweep while it grows, on a page of 127.0.0.1 and on the terminal")
	f.job.addFlags(cmd)
	f.answer.add(cmd)
}

// places returns the job whose nodes share the sweep, or nil if there is none. If this process itself is an element
// of such a job, places sets --share.
func (a *app) places(cmd *cobra.Command, f *sweepFlags) (job *submission, err error) {
	asked, err := f.job.asked(cmd.Flags())
	switch {
	case err != nil || !asked:
		return nil, err
	case a.submitted:
		f.share, f.live = true, false
		return nil, nil
	case f.share:
		return nil, usagef("--share works on a sweep from here, but --%s has nodes do that: give one of the two",
			launcherFlag)
	case cmd.Flags().Changed(team.HostsFlag):
		return nil, usagef(
			"--%s spreads each run over several hosts, but runs of --%s have a node each: give one of the two",
			team.HostsFlag, launcherFlag)
	case f.extend:
		return nil, usagef("--extend changes the plan, on which the nodes of --%s must agree: give one of the two",
			launcherFlag)
	}
	return &f.job, a.outside()
}

func (a *app) sweep(cmd *cobra.Command, f *sweepFlags, args []string) error {
	spec, err := f.spec(cmd, args)
	if err != nil {
		return err
	}
	job, err := a.places(cmd, f)
	if err != nil {
		return err
	}
	if f.dryRun && f.live {
		return usagef("--live shows runs, but --dry-run has none: give one of the two")
	}
	if f.share && f.extend {
		return usagef("--extend changes the plan, on which all psbenches that --share a sweep must agree: give one of the two")
	}
	if !f.dryRun && f.out == "" {
		return usagef("--out is missing: give the folder of the sweep, or --dry-run")
	}
	// Check the metric before the runs start, because they may take hours.
	answer := words.Options{Metric: cmp.Or(f.answer.metric, spec.Metric), Target: f.answer.target}
	if err := answer.Check(); err != nil {
		return err
	}
	p, err := a.plan(cmd, spec, f.yes)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.print(func(page *screen.Page) error { return listing.Plan(page, p, spec, f.out) })
	}
	text, err := spec.Text()
	if err != nil {
		return err
	}
	return a.conductSweep(cmd.Context(), f.out, p, text,
		sweepOptions{Extend: f.extend, Retry: f.retry, Share: f.share, Job: job, Quiet: f.quiet, Live: f.live,
			Answer: f.answer})
}

// spec returns the specification that results from the file and the flags.
func (f *sweepFlags) spec(cmd *cobra.Command, args []string) (*sweep.Spec, error) {
	spec := sweep.NewSpec()
	if len(args) > 0 {
		var err error
		if spec, err = sweep.OpenSpec(args[0]); err != nil {
			return nil, err
		}
	}
	for _, text := range f.axes {
		if err := spec.AddAxis(text); err != nil {
			return nil, usageError{err}
		}
	}
	if cmd.Flags().Changed("repeats") {
		if f.repeats < 1 || f.repeats > sweep.MostRepeats {
			return nil, usagef("--repeats is %d but must be from 1 to %d", f.repeats, sweep.MostRepeats)
		}
		spec.Repeats = f.repeats
	}
	if cmd.Flags().Changed("budget") {
		if spec.Budget.Time = f.budget; !sweep.IsTime(f.budget) {
			return nil, usagef("--budget is %s but must be a time above 0, as in 90s or 8h30m", quote.String(f.budget))
		}
	}
	if cmd.Flags().Changed("run-timeout") {
		if spec.RunTimeout = f.runTimeout; !sweep.IsTime(f.runTimeout) {
			return nil, usagef("--run-timeout is %s but must be a time above 0, as in 90s or 8h30m",
				quote.String(f.runTimeout))
		}
	}
	if f.noAgain {
		again := false
		spec.Again = &again
	}
	return spec, nil
}

// plan makes the plan of a specification and checks it. All cells share the run's flags.
func (a *app) plan(cmd *cobra.Command, spec *sweep.Spec, yes bool) (*sweep.Plan, error) {
	if _, err := simd.Chosen(); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err == nil {
		program, err = executable.Resolve(program)
	}
	if err != nil {
		return nil, fmt.Errorf("psbench cannot find its own program: %w", err)
	}
	hosts, across, err := a.hostsOf(cmd)
	if err != nil {
		return nil, err
	}
	finder := a.team.Finder(&a.cuda)
	if across { // each run looks for devices on its own hosts
		finder = cuda.Elsewhere{Finder: &a.cuda}
	}
	m := &sweep.Maker{
		Sources: config.Sources{Environ: a.environ, Flags: cmd.Flags(), CUDA: finder},
		Registry: func(c *config.Config) (*registry.Registry, error) {
			return c.LoadRegistry(psbench.Registry, registry.UserFile(a.environ))
		},
		Effective: func(ctx context.Context, program string, values map[string]any) (map[string]any, error) {
			return sweep.Ask(ctx, a.environ, program, values)
		},
		Catalogue: catalogue, Program: program, Try: a.try, Across: across, Yes: yes,
	}
	p, err := m.Make(cmd.Context(), spec)
	var many *sweep.ManyError
	if errors.As(err, &many) {
		return nil, fmt.Errorf("%w: give --yes if that is meant", err)
	}
	if err != nil {
		return nil, err
	}
	if p.Hosts = hosts; a.team != nil {
		return p, p.CheckTasks(program, a.team.Interface)
	}
	return p, p.CheckHosts()
}

// hostsOf returns the hosts of a command's runs, one line each as in a hosts file. The result across is true if runs
// use other hosts than this one.
func (a *app) hostsOf(cmd *cobra.Command) (lines []string, across bool, err error) {
	if a.team != nil {
		return a.team.Names(), true, nil
	}
	file, _ := cmd.Flags().GetString(team.HostsFlag)
	if file == "" {
		return nil, false, nil
	}
	return team.Listed(file, a.environ)
}

// try starts an experiment without output and returns why it fails. It skips an experiment whose CUDA ranks cannot
// run on this host.
func (a *app) try(ctx context.Context, exp *config.Experiment) error {
	if exp.CUDA != nil && !exp.CUDA.Here() {
		return nil
	}
	defer interrupt.Hold(ctx)()
	o := a.runOptions(run.Silent)
	o.Ending = func() func() { return interrupt.Bounded(ctx) }
	return run.Try(ctx, exp, o)
}
