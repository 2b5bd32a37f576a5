package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/delivery"
)

// taskArgument as the first argument makes this process a task of a job that psbench has submitted; the command
// line follows.
const taskArgument = "__task"

// remote is the first task of such a job. What it prints and leaves is delivered to who has submitted it.
type remote struct {
	sender  *delivery.Sender
	hangUp  func()       // ends the watch over who has submitted it
	folder  string       // of what is to be delivered, "" as long as there is nothing
	scratch func() error // removes it
}

// deliver makes this process the remote if it is the first task of its job. The end of its standard input is
// the end of who has submitted it, and interrupts it.
func (a *app) deliver(signals chan<- os.Signal) error {
	if f := launchers.Look(a.system("")); f.Err != nil || f.Place.Rank != 0 {
		return nil // who is at odds with its launcher says so later
	}
	sender, err := delivery.NewSender(a.stdout, delivery.Start{Job: a.variable("SLURM_JOB_ID"), Nodes: a.variable("SLURM_STEP_NODELIST")})
	if err != nil {
		return err
	}
	a.stdout = sender
	a.remote = &remote{sender: sender, hangUp: onEnd(0, func() {
		select {
		case signals <- os.Interrupt:
		default: // one is there
		}
	})}
	return nil
}

// onEnd calls ended when the pipe of a descriptor has ended, unless stop was called.
func onEnd(fd int, ended func()) (stop func()) {
	_ = unix.SetNonblock(fd, true) // so that reading can be ended
	pipe := os.NewFile(uintptr(fd), "stdin")
	var reading sync.WaitGroup
	reading.Go(func() {
		if _, err := io.Copy(io.Discard, pipe); !errors.Is(err, os.ErrDeadlineExceeded) {
			ended()
		}
	})
	return func() {
		_ = pipe.SetReadDeadline(time.Now())
		reading.Wait()
	}
}

// redirect has files be written on this node if they are to be delivered.
func (a *app) redirect(opts option.Options) (option.Options, error) {
	var err error
	for flag, path := range map[string]*string{outFlag: &opts.Out, jsonFlag: &opts.JSON, logsFlag: &opts.LogDir} {
		if *path != toStdout && err == nil {
			*path, err = a.at(flag, *path)
		}
	}
	return opts, err
}

// at is where the file or folder that a flag names is written.
func (a *app) at(flag, path string) (string, error) {
	r := a.remote
	if r == nil || path == "" {
		return path, nil
	}
	if r.folder == "" {
		scratch, remove, err := launch.Scratch()
		if err != nil {
			return "", err
		}
		r.folder, r.scratch = filepath.Join(scratch, "files"), remove
	}
	ours := filepath.Join(r.folder, flag)
	if flag == jsonFlag || flag == recordFlag {
		return filepath.Join(ours, filepath.Base(path)), os.MkdirAll(ours, 0o700)
	}
	return ours, os.MkdirAll(r.folder, 0o700)
}

// end delivers the files and the exit status.
func (r *remote) end(ctx context.Context, status int, fail func(error)) int {
	defer hold(ctx)()
	r.hangUp()
	if r.folder != "" {
		if err := r.sender.Folder(r.folder); err != nil {
			fail(err)
			status = exitFailure
		}
		if err := r.scratch(); err != nil {
			fail(err)
		}
	}
	if err := r.sender.End(status); err != nil {
		fail(err)
		status = exitFailure
	}
	return status
}
