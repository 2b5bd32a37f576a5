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

// Job is a command that srun runs as one task on each node. The first task sends its output and files to psbench (see
// package delivery).
type Job struct {
	Slurm
	Command []string // program and its arguments
	Environ []string
	// Stdout receives the output of the first task. Stderr receives the messages of all tasks. Folder receives the
	// files.
	Stdout, Stderr io.Writer
	Folder         string
	// Tell is called with news about the job, for the user.
	Tell func(string)
	// Timeout limits how long the first task's node may be silent.
	Timeout time.Duration
}

// These constants limit how long the end of a job may take.
const (
	interruptGrace = time.Minute      // for the job to end in order after an interrupt
	endGrace       = 10 * time.Second // for srun to end after the command has ended or srun was stopped
	// silentGrace replaces endGrace if Slurm was asked to cancel the job, because srun waits for lost nodes.
	silentGrace = time.Second
)

// ErrSilent means that the job's first node sends no heartbeats.
var ErrSilent = errors.New("its first node does not answer")

// following is a Job whose srun is running.
type following struct {
	*Job
	stdin     io.Closer
	cmd       *exec.Cmd
	queued    chan string         // receives the job's number while the job waits in the queue
	began     chan delivery.Start // receives where the first task runs
	received  chan struct{}       // closed when the delivery has ended
	heard     atomic.Bool
	words     words
	status    int
	delivered error
}

// Run runs the job and returns the exit status of its first task. If ctx ends, the job gets a minute to end in order.
// When Run returns, the job has ended or Slurm was asked to cancel it.
func (j *Job) Run(ctx context.Context) (status int, err error) {
	program, err := exec.LookPath("srun")
	if err != nil {
		return 0, errors.New("there is no srun on PATH: start psbench on a host that submits Slurm jobs")
	}
	f := &following{Job: j, queued: make(chan string, 1), began: make(chan delivery.Start, 1),
		received: make(chan struct{}), delivered: delivery.ErrCut}
	cmd := exec.Command(program, j.srun(j.Command)...) // #nosec G204 -- the user's
	cmd.Env = j.Environ
	// srun runs in its own process group, so that the terminal's Ctrl-C reaches only psbench. If psbench dies, srun
	// gets SIGTERM and the job ends.
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
		runtime.LockOSThread() // the kernel sends the parent-death signal when the thread that forked ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ignored, because the delivery contains the exit status
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

// follow waits until srun has ended. where says where the first task ran, or is nil if it did not run. why says why
// psbench stopped srun, if it did.
func (f *following) follow(ctx context.Context, ended <-chan struct{}) (where *delivery.Start, why error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var waits *queue
	var late <-chan time.Time // when to stop srun, and later to kill it
	last, grace := syscall.SIGTERM, endGrace
	silent := 0 // seconds without frames; it does not count seconds in which psbench was stopped
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
			_ = f.stdin.Close() // interrupts the first task
			if late = time.After(interruptGrace); where == nil {
				late = time.After(0)
			}
		case <-late:
			_ = f.cmd.Process.Signal(last) // fails if srun has ended
			last, late = syscall.SIGKILL, time.After(grace)
		}
	}
}

// cancel asks Slurm to cancel a job. The caller stops srun even if this fails.
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

// listen passes on the messages of the tasks and keeps the messages of Slurm.
func (f *following) listen(from io.Reader) {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadSlice('\n') // may be a piece of a longer line
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
