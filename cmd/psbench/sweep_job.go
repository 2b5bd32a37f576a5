package main

import (
	"context"
	"errors"

	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
)

// elementArgument as the first argument makes this process an element of a job array that psbench has submitted
// for a sweep; the command line follows.
const elementArgument = "__element"

// elements are those of an array, who share a sweep.
type elements struct {
	ctx   context.Context
	array *submit.Array
}

func (e elements) Start() error   { return e.array.Submit(e.ctx) }
func (e elements) Working() error { return e.array.Working(e.ctx) }

// sweepByJob has the nodes of a job array share a sweep, and follows it.
func (a *app) sweepByJob(ctx context.Context, dir string, p *sweep.Plan, o sweepOptions, options conduct.Options) error {
	prints, undo, err := conduct.Prepare(dir, p)
	if err != nil {
		return err
	}
	command, err := a.again(elementArgument)
	if err != nil {
		return err
	}
	array := submit.Array{Slurm: o.Job.slurm, Command: command, Environ: withoutPlaces(a.environ), Prints: prints, Tell: a.teller(o.Quiet)}
	array.Nodes = min(array.Nodes, p.Repeats) // a node works on a round at least
	defer undo()
	defer bounded(ctx)() // an interrupted job has a deadline
	err = conduct.Follow(ctx, dir, p, elements{ctx, &array}, options)
	return errors.Join(err, array.Cancel(ctx, err != nil && ctx.Err() == nil))
}
