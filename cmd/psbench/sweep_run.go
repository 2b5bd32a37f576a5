package main

import (
	"context"
	"errors"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/show/live/follow"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/internal/interrupt"
)

// sweepStep is called at every point where a kill may interrupt a sweep. Only tests set it.
var sweepStep func(point string)

// conductSweep runs a plan in the sweep's folder, or continues it. The parameter spec is the text of the
// specification.
func (a *app) conductSweep(ctx context.Context, dir string, p *sweep.Plan, spec []byte, o sweepOptions) error {
	defer interrupt.Hold(ctx)()
	told := progress.New(a.stderr, a.terminal(a.stderr), o.Quiet)
	runs := &progress.Runs{Progress: told}
	var page *follow.Sweep
	if o.Live {
		var err error
		maker := view.NewMaker(o.Answer.mostFailed.loader(), dir,
			view.Options{Metric: o.Answer.metric, Target: o.Answer.target})
		if page, err = follow.NewSweep(a.stderr, dir, p, told, maker); err != nil {
			return err
		}
	}
	environ := sweep.WithoutOptions(a.environ)
	if o.Share { // each run stays on this host, even if a launcher has several
		environ = append(environ, option.OverrideVariable+"=1")
	}
	options := conduct.Options{
		Environ: environ,
		Spec:    spec,
		Extend:  o.Extend,
		Retry:   o.Retry,
		Share:   o.Share,
		Tell: func(n conduct.News) {
			follow.Tell(runs, n)
			page.News(n)
		},
		Heartbeat: page.Heartbeat(),
		Ending:    func() func() { return interrupt.Bounded(ctx) },
		Step:      sweepStep,
	}
	err := options.Over(a.team)
	switch {
	case err != nil:
	case o.Job != nil:
		err = a.submitSweep(ctx, dir, p, o, options)
	default:
		err = conduct.Run(ctx, dir, p, options)
	}
	told.Done()
	if perr := page.End(ctx, err); err == nil {
		err = perr
	}
	if ended := new(conduct.EndedError); ctx.Err() != nil || a.submitted || !sweep.IsSweep(dir) ||
		err != nil && !errors.As(err, ended) {
		return err
	}
	return errors.Join(err, a.showStudy([]string{dir}, o.Answer, picturesFlag{given: true}, false))
}

// submitSweep submits a job array whose nodes share a sweep.
func (a *app) submitSweep(ctx context.Context, dir string, p *sweep.Plan, o sweepOptions,
	options conduct.Options) error {
	command, err := submit.Command(submit.ElementArgument, a.args)
	if err != nil {
		return err
	}
	array := &submit.Array{Slurm: o.Job.slurm, Command: command, Environ: launchers.WithoutPlaces(a.environ),
		Tell: a.teller(o.Quiet)}
	return conduct.Submit(ctx, dir, p, array, options)
}
