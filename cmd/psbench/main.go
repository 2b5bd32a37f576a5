// Command psbench measures distributed training with parameter servers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/delivery"
	"github.com/psbench/psbench/core/process/launchers/submit"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/plugins"
)

func main() {
	if launch.Child(plugins.Builtin) {
		return
	}
	os.Exit(main1())
}

func main1() int {
	// Take the pipe and the agents' addresses first: processes that psbench starts must not inherit these variables.
	a := &app{stdout: os.Stdout, stderr: os.Stderr, beats: monitor.BeatPipe(), called: team.Inherited(),
		args: os.Args[1:]}
	a.environ = os.Environ()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interrupt.Signals()...)
	// If the reader of the tables leaves, a write fails, and the run goes on. SIGPIPE is caught, not ignored, because
	// plugins would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	w := &interrupt.Watch{Quit: a.quit}
	ctx, stop := w.Start(context.Background(), signals)
	defer stop()
	if len(a.args) == 0 || a.args[0] != submit.TaskArgument && a.args[0] != submit.ElementArgument {
		return a.run(ctx, a.args)
	}
	element := a.args[0] == submit.ElementArgument
	a.args, a.submitted = a.args[1:], true
	os.Args = append(os.Args[:1:1], a.args...) // so results record the command without the marker
	if element {
		return a.run(ctx, a.args)
	}
	if err := a.deliver(signals); err != nil {
		a.fail(err)
		return exitFailure
	}
	status := a.run(ctx, a.args)
	if a.remote != nil {
		status = a.remote.End(ctx, status, exitFailure, a.fail)
	}
	return status
}

// deliver makes this process the remote end of a submission if it is the first task of its job.
func (a *app) deliver(signals chan<- os.Signal) error {
	if f := launchers.Look(team.System(a.environ, "")); f.Err != nil || f.Place.Rank != 0 {
		return nil // the command itself reports contradictions later
	}
	about := delivery.Start{Job: a.variable("SLURM_JOB_ID"), Nodes: a.variable("SLURM_STEP_NODELIST")}
	remote, err := submit.NewRemote(a.stdout, about, signals)
	if err == nil {
		a.remote, a.stdout = remote, remote.Stdout
	}
	return err
}
