package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/internal/interrupt"
)

// sweepStep is called wherever psbench may be killed while it runs a sweep. Tests alone set it.
var sweepStep func(point string)

// conductSweep runs a plan in the folder of the sweep, or goes on with it; spec is the text of what
// the plan was made of.
func (a *app) conductSweep(ctx context.Context, dir string, p *sweep.Plan, spec []byte, o sweepOptions) error {
	defer interrupt.Hold(ctx)()
	told := progress.New(a.stderr, a.terminal(a.stderr), o.Quiet)
	runs := &progress.Runs{Progress: told}
	page, err := a.liveSweep(dir, p, told, o)
	if err != nil {
		return err
	}
	environ := withoutOptions(a.environ)
	if o.Share { // each run is this host's, whatever started psbench on several
		environ = append(environ, option.OverrideVariable+"=1")
	}
	options := conduct.Options{
		Environ: environ,
		Spec:    spec,
		Extend:  o.Extend,
		Retry:   o.Retry,
		Share:   o.Share,
		Tell: func(n conduct.News) {
			tellRun(runs, n)
			page.news(n)
		},
		Heartbeat: page.heartbeat(),
		Ending:    func() func() { return interrupt.Bounded(ctx) },
		Step:      sweepStep,
	}
	err = options.Over(a.team)
	switch {
	case err != nil:
	case o.Job != nil:
		err = a.submitSweep(ctx, dir, p, o, options)
	default:
		err = conduct.Run(ctx, dir, p, options)
	}
	told.Done()
	if perr := page.end(ctx, err); err == nil {
		err = perr
	}
	if ended := new(conduct.EndedError); ctx.Err() != nil || a.submitted || !sweep.IsSweep(dir) || err != nil && !errors.As(err, ended) {
		return err
	}
	return errors.Join(err, a.showStudy([]string{dir}, o.Answer, picturesFlag{given: true}))
}

// submitSweep has the nodes of a job array share a sweep.
func (a *app) submitSweep(ctx context.Context, dir string, p *sweep.Plan, o sweepOptions, options conduct.Options) error {
	command, err := submit.Command(submit.ElementArgument, a.args)
	if err != nil {
		return err
	}
	array := &submit.Array{Slurm: o.Job.slurm, Command: command, Environ: launchers.WithoutPlaces(a.environ), Tell: a.teller(o.Quiet)}
	return conduct.Submit(ctx, dir, p, array, options)
}

// tellRun tells of a run that has started or ended.
func tellRun(runs *progress.Runs, n conduct.News) {
	run := progress.OneRun{
		Number: n.Number, Total: n.Total, Name: runName(n.Cell, n.Turn), SamplesPerSecond: n.SamplesPerSecond, Seconds: n.Seconds, Left: n.Left,
	}
	switch n.State {
	case journal.Running:
		runs.Start(run)
	case journal.Failed:
		run.Failed = n.Reason
		fallthrough
	case journal.Done:
		runs.End(run)
	}
}

// runName is a run for people.
func runName(c sweep.Cell, t sweep.Turn) string {
	again := ""
	if t.Again {
		again = " again"
	}
	return fmt.Sprintf("%s%s, round %d", c.Name, again, t.Round)
}
