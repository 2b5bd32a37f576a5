package submit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/process/launchers/delivery"
	"github.com/psbench/psbench/internal/quote"
)

// Job is a command that srun has a task of on each node, of which the first is the side of a delivery.
type Job struct {
	Slurm
	Command []string // the program and its arguments
	Environ []string
	// Stdout gets what the first task prints, Stderr what all say, and Folder the files.
	Stdout, Stderr io.Writer
	Folder         string
	// Tell is told in words how the job is.
	Tell func(string)
	// Timeout is how long nothing may come from the node of the first task.
	Timeout time.Duration
}

// How long a job is waited for.
const (
	interruptGrace = time.Minute      // until it has ended in order, once it was told to
	endGrace       = 10 * time.Second // until srun has ended, once the command did or srun was told to
	// silentGrace is endGrace for a job that Slurm was told to end: srun waits for nodes that are lost.
	silentGrace = time.Second
)

// ErrSilent is of a job from whose first node nothing comes.
var ErrSilent = errors.New("its first node gives no sign")

// following is a Job while srun runs.
type following struct {
	*Job
	stdin     io.Closer
	cmd       *exec.Cmd
	queued    chan string         // the job waits
	began     chan delivery.Start // the first task runs
	received  chan struct{}       // closed when its delivery has ended
	heard     atomic.Bool
	words     words
	status    int
	delivered error
}

// Run runs the job to its end and returns the exit status of its first task. When ctx ends, the job gets
// a minute to end in order. However Run returns, the job is over, or Slurm was told to end it.
func (j *Job) Run(ctx context.Context) (status int, err error) {
	program, err := exec.LookPath("srun")
	if err != nil {
		return 0, errors.New("there is no srun on PATH: start psbench on a host that submits Slurm jobs")
	}
	f := &following{Job: j, queued: make(chan string, 1), began: make(chan delivery.Start, 1),
		received: make(chan struct{}), delivered: delivery.ErrCut}
	cmd := exec.Command(program, j.srun(j.Command)...) // #nosec G204 -- the user's
	cmd.Env = j.Environ
	// Of its own group, since a terminal's Ctrl-C is for psbench; and a psbench that dies takes its job along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if f.stdin, err = cmd.StdinPipe(); err != nil {
		return 0, err
	}
	stdout, out := io.Pipe()
	stderr, said := io.Pipe()
	cmd.Stdout, cmd.Stderr = out, said
	var readers sync.WaitGroup
	readers.Go(func() { f.receive(stdout) })
	readers.Go(func() { f.listen(stderr) })
	started, ended := make(chan error, 1), make(chan struct{})
	readers.Go(func() {
		runtime.LockOSThread() // the kernel sends the parent-death signal when the thread ends that forked
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the delivery has the exit status
		}
		_ = out.Close()
		_ = said.Close()
		close(ended)
	})
	if err := <-started; err != nil {
		readers.Wait()
		return 0, fmt.Errorf("srun cannot be started: %w", err)
	}
	f.cmd = cmd
	where, err := f.follow(ctx, ended)
	readers.Wait()
	switch {
	case f.delivered == nil:
		return f.status, nil
	case err != nil:
		return 0, err
	case where == nil:
		return 0, fmt.Errorf("Slurm did not run the job: %s", f.words.reason())
	case !errors.Is(f.delivered, delivery.ErrCut):
		return 0, fmt.Errorf("job %s on %s: %w", quote.Word(where.Job), quote.Word(where.Nodes), f.delivered)
	}
	return 0, fmt.Errorf("job %s on %s has ended without its result: %s", quote.Word(where.Job),
		quote.Word(where.Nodes), f.words.reason())
}

// follow returns when srun has ended, with where the first task ran, if it did. The error says why it was
// told to end.
func (f *following) follow(ctx context.Context, ended <-chan struct{}) (where *delivery.Start, why error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var waits *queue
	var late <-chan time.Time // when srun is told to end, or to end at once
	last, grace := syscall.SIGTERM, endGrace
	silent := 0 // seconds in which nothing came; those in which psbench was stopped do not count
	interrupted, received := ctx.Done(), f.received
	for {
		select {
		case <-ended:
			return where, why
		case job := <-f.queued:
			waits = &queue{job: job, tell: f.Tell}
		case start := <-f.began:
			waits, where = nil, &start
			f.Tell(fmt.Sprintf("job %s runs on %s", start.Job, start.Nodes))
		case <-tick.C:
			waits.look(ctx)
			if silent++; f.heard.Swap(false) || where == nil || received == nil {
				silent = 0
			}
			if time.Duration(silent)*time.Second >= f.Timeout && why == nil {
				why = fmt.Errorf("job %s on %s: nothing has come for %d s: %w", quote.Word(where.Job),
					quote.Word(where.Nodes), silent, ErrSilent)
				f.cancel(ctx, where.Job)
				late, grace = time.After(0), silentGrace
			}
		case <-received:
			received, late = nil, time.After(endGrace)
		case <-interrupted:
			interrupted, why = nil, context.Cause(ctx)
			_ = f.stdin.Close() // which the first task takes for an interrupt
			if late = time.After(interruptGrace); where == nil {
				late = time.After(0)
			}
		case <-late:
			_ = f.cmd.Process.Signal(last) // an error says that it has ended
			last, late = syscall.SIGKILL, time.After(grace)
		}
	}
}

// cancel tells Slurm to end a job. If that fails, srun is told all the same.
func (f *following) cancel(ctx context.Context, job string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), silentGrace)
	defer stop()
	cmd := exec.CommandContext(ctx, "scancel", job) // #nosec G204 -- the job that Slurm named
	cmd.Env = f.Environ
	_ = cmd.Run()
}

func (f *following) receive(from io.Reader) {
	defer close(f.received)
	r := delivery.Receiver{
		Stdout: f.Stdout, Folder: f.Folder,
		Foreign: func(line string) { _, _ = fmt.Fprintln(f.Stderr, line) },
		Began:   func(s delivery.Start) { f.began <- s },
		Heard:   func() { f.heard.Store(true) },
	}
	f.status, f.delivered = r.Receive(from)
	_, _ = io.Copy(io.Discard, from)
}

// listen passes on what the tasks say, and keeps what Slurm does.
func (f *following) listen(from io.Reader) {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadSlice('\n') // of a longer line a piece
		text, slurm := complaint(strings.TrimSpace(string(line)))
		switch {
		case slurm && f.words.take(text):
			f.queued <- f.words.job
		case !slurm:
			_, _ = f.Stderr.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
