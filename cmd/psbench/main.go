// Command psbench measures distributed training with parameter servers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/sdk"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launch.BuiltinArgument {
		sdk.Serve(builtin()...)
		return
	}
	os.Exit(main1())
}

func main1() int {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	a := &app{stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ()}
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
