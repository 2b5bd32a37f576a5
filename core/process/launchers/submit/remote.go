package submit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/launchers/delivery"
	"github.com/psbench/psbench/internal/interrupt"
)

// These first arguments mark a process of a submitted job. The command line of the job follows them.
const (
	TaskArgument    = "__task"    // task of a Job
	ElementArgument = "__element" // element of an Array
)

// Command returns this process's command line, changed to run in a job. first is one of the arguments above.
func Command(first string, args []string) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, errors.New("psbench cannot find its own program")
	}
	return slices.Concat([]string{program, first}, args), nil
}

// Remote is the first task of a Job. Remote sends its output and files to the psbench that submitted the job. In all
// other processes, Remote is nil and files stay where they are written.
type Remote struct {
	// Stdout sends the output of the task.
	Stdout *delivery.Sender

	hangUp  func()       // stops watching the psbench that submitted the job
	folder  string       // contains the files to send; "" until there are some
	scratch func() error // removes folder
}

// NewRemote starts a delivery to stdout. When standard input ends, the psbench that submitted the job has ended; the
// task then gets an interrupt on signals.
func NewRemote(stdout io.Writer, about delivery.Start, signals chan<- os.Signal) (*Remote, error) {
	sender, err := delivery.NewSender(stdout, about)
	if err != nil {
		return nil, err
	}
	return &Remote{Stdout: sender, hangUp: onEnd(0, func() {
		select {
		case signals <- os.Interrupt:
		default: // an interrupt is already pending
		}
	})}, nil
}

// onEnd calls ended when the pipe with this descriptor ends. onEnd does not call ended after stop was called.
func onEnd(fd int, ended func()) (stop func()) {
	_ = unix.SetNonblock(fd, true) // allows reads to be interrupted
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

// toStdout is the value of --json that prints the result to standard output.
const toStdout = "-"

// Redirect returns options that make a run write its files to the paths that At returns.
func (r *Remote) Redirect(opts option.Options) (option.Options, error) {
	var err error
	for flag, path := range map[string]*string{delivery.OutFlag: &opts.Out, delivery.JSONFlag: &opts.JSON,
		delivery.LogsFlag: &opts.LogDir} {
		if *path != toStdout && err == nil {
			*path, err = r.At(flag, *path)
		}
	}
	return opts, err
}

// At returns the path to which the file or folder of a flag must be written. If r is nil, At returns path. Otherwise At
// returns a path in the folder whose files are sent.
func (r *Remote) At(flag, path string) (string, error) {
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
	if flag == delivery.JSONFlag || flag == delivery.RecordFlag {
		return filepath.Join(ours, filepath.Base(path)), os.MkdirAll(ours, 0o700)
	}
	return ours, os.MkdirAll(r.folder, 0o700)
}

// End sends the files and the exit status of the task, and returns this status. If sending fails, End passes the
// reasons to fail and returns failed.
func (r *Remote) End(ctx context.Context, status, failed int, fail func(error)) int {
	defer interrupt.Hold(ctx)()
	r.hangUp()
	if r.folder != "" {
		if err := r.Stdout.Folder(r.folder); err != nil {
			fail(err)
			status = failed
		}
		if err := r.scratch(); err != nil {
			fail(err)
		}
	}
	if err := r.Stdout.End(status); err != nil {
		fail(err)
		status = failed
	}
	return status
}
