package main

import (
	"context"
	"io"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/internal/interrupt"
)

// outcome is the result of a run or of psbench comm.
type outcome interface {
	comparable
	folder.Result
	// Fail records why the measurement ended early.
	Fail(err error)
}

// measurement is a run or a psbench comm before its start.
type measurement[R outcome] struct {
	pending R // stands for the result until one exists
	// run performs the measurement. If it returns an error, the result may be partial or absent.
	run func(ctx context.Context, p *progress.Progress, o cluster.Options) (R, error)
	// write writes the result's tables. The width is in columns; 0 means no screen.
	write func(w io.Writer, width int, r R) error
}

// carryOut runs a measurement and writes the result according to opts.JSON, opts.Stats and opts.Quiet. A failed
// measurement may also have a partial result, which is written, too.
func carryOut[R outcome](ctx context.Context, a *app, opts option.Options, m measurement[R]) error {
	res, err := measure(ctx, a, opts, m)
	var none R
	if res == none {
		return err
	}
	tables := a.tables(opts)
	if werr := m.write(tables, widthOf(tables), res); err == nil {
		err = werr
	}
	return err
}

// measure runs a measurement and writes the result to --json and --out. The tables come later, because their reader
// may leave or stall.
func measure[R outcome](ctx context.Context, a *app, opts option.Options, m measurement[R]) (R, error) {
	var none R
	defer interrupt.Hold(ctx)()
	opts, err := a.remote.Redirect(opts)
	if err != nil {
		return none, err
	}
	told := progress.New(a.stderr, a.terminal(a.stderr), opts.Quiet)
	out, err := begin(ctx, opts.Out)
	if err != nil {
		return none, err
	}
	if err := announce(opts.JSON, m.pending); err != nil {
		out.fail(err)
		return none, err
	}
	o := cluster.Options{
		Output: outputOf(told, opts, out), Ending: func() func() { return interrupt.Bounded(ctx) },
		Kept: opts.JSON != "" || opts.Out != "",
	}
	a.team.Spread(&o)
	res, err := m.run(ctx, told, o)
	told.Done()
	if res == none {
		m.pending.Fail(err)
		a.leaveFailure(ctx, opts.JSON, m.pending)
		_ = out.leave(m.pending)
		return none, err
	}
	werr := out.leave(res)
	if err == nil {
		err = werr
	}
	if werr := a.save(ctx, opts.JSON, res); err == nil {
		err = werr
	}
	return res, err
}

// outputOf chooses the destination of the plugins' output.
func outputOf(told *progress.Progress, opts option.Options, out *outFolder) launch.Output {
	o := launch.Output{Folder: opts.LogDir}
	if o.Folder == "" {
		o.Folder = out.logs()
	}
	if opts.PluginOutput == "show" {
		o.Line = told.Line
	}
	return o
}
