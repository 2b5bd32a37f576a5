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

// First arguments that mark a process of a submitted job; its command line follows.
const (
	TaskArgument    = "__task"    // a task of a Job
	ElementArgument = "__element" // an element of an Array
)

// Command returns this process's command line for a job. first is one of the arguments above.
func Command(first string, args []string) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, errors.New("psbench does not find itself")
	}
	return slices.Concat([]string{program, first}, args), nil
}

// Remote is the first task of a Job. It delivers its output and files to the psbench that submitted the job. A nil
// Remote is any other process, whose files stay where it writes them.
type Remote struct {
	// Stdout takes the output of the task.
	Stdout *delivery.Sender

	hangUp  func()       // stops watching the psbench that submitted the job
	folder  string       // of the files to deliver, "" as long as there are none
	scratch func() error // removes it
}

// NewRemote starts a delivery to stdout. The end of standard input means that the psbench that submitted the job
// has ended; it interrupts the task.
func NewRemote(stdout io.Writer, about delivery.Start, signals chan<- os.Signal) (*Remote, error) {
	sender, err := delivery.NewSender(stdout, about)
	if err != nil {
		return nil, err
	}
	return &Remote{Stdout: sender, hangUp: onEnd(0, func() {
		select {
		case signals <- os.Interrupt:
		default: // one is pending
		}
	})}, nil
}

// onEnd calls ended when the pipe of a descriptor ends, unless stop was called.
func onEnd(fd int, ended func()) (stop func()) {
	_ = unix.SetNonblock(fd, true) // so that reading can be interrupted
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

// toStdout as the value of --json puts the result on standard output.
const toStdout = "-"

// Redirect returns options with which the files of a run are written to the paths of At.
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

// At returns where to write the file or folder of a flag: in a folder to be delivered, or at path if nothing is
// delivered.
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

// End delivers the files and the exit status of the task, and returns the status. If the delivery fails, it reports
// the reasons to fail and returns failed.
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
