// Command psbench measures distributed training with parameter servers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/record/heartbeat"
	"github.com/psbench/psbench/plugins"
)

func main() {
	if launch.Child(plugins.Builtin) {
		return
	}
	os.Exit(main1())
}

func main1() int {
	// The pipe and the agents first: their variables are not for what psbench starts.
	a := &app{stdout: os.Stdout, stderr: os.Stderr, beats: heartbeat.Inherited(), called: inheritedAgents(), args: os.Args[1:]}
	a.environ = os.Environ()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interrupts()...)
	// A reader of the tables that leaves is an error of write, not the end of a run.
	// The signal is caught and not ignored, since plugins would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	w := &watch{cpu: cpuTime, quit: a.quit}
	ctx, stop := w.start(context.Background(), signals)
	defer stop()
	if len(a.args) == 0 || a.args[0] != taskArgument && a.args[0] != elementArgument {
		return a.run(ctx, a.args)
	}
	element := a.args[0] == elementArgument
	a.args, a.submitted = a.args[1:], true
	os.Args = append(os.Args[:1:1], a.args...) // which results have
	if element {
		return a.run(ctx, a.args)
	}
	if err := a.deliver(signals); err != nil {
		a.fail(err)
		return exitFailure
	}
	status := a.run(ctx, a.args)
	if a.remote != nil {
		status = a.remote.end(ctx, status, a.fail)
	}
	return status
}

// interrupts are the signals that end a run early. The end of the terminal is one of
// them, unless nohup has it ignored.
func interrupts() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
