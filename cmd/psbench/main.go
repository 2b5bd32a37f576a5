// Command psbench measures distributed training with parameter servers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/psbench/psbench/core/heartbeat"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/plugins"
)

func main() {
	if launch.Child(plugins.Builtin) {
		return
	}
	os.Exit(main1())
}

func main1() int {
	// The pipe first: its variable is not for what psbench starts.
	a := &app{stdout: os.Stdout, stderr: os.Stderr, beats: heartbeat.Inherited(), environ: os.Environ()}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interrupts()...)
	// A reader of the tables that leaves is an error of write, not the end of a run.
	// The signal is caught and not ignored, since plugins would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	w := &watch{cpu: cpuTime, quit: a.quit}
	ctx, stop := w.start(context.Background(), signals)
	defer stop()
	return a.run(ctx, os.Args[1:])
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
