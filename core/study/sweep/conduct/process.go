package conduct

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/draft"
)

// seedFlag is the flag that passes the seed to a run.
var seedFlag = "--" + strings.ReplaceAll(sweep.SeedKey, "_", "-")

// command returns the process of a run. Its standard input is the sweep's lock, which the process never reads, so the
// sweep stays locked until the run has ended. The process leads its own process group because Ctrl-C in a terminal is
// meant for psbench, which passes the signal on. The kernel kills the process when psbench dies.
func (s *session) command(t sweep.Turn) *exec.Cmd {
	cell := s.plan.Cells[t.Cell]
	cmd := exec.Command(cell.Binary, "run", // #nosec G204 -- the binary that the user names
		"--config", filepath.Join(s.dir, cell.ConfigFile()), seedFlag, strconv.FormatUint(t.Seed, 10),
		"--out", s.place.folder(t), "--quiet")
	if len(s.plan.Hosts) > 0 && !s.options.Led {
		cmd.Args = append(cmd.Args, "--hosts", filepath.Join(s.dir, sweep.HostsFile))
	}
	cmd.Args[0] = "psbench"
	cmd.Env = s.options.Environ
	if lock := s.place.lock(); lock != nil {
		cmd.Stdin = lock
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second // for children that inherited standard error
	return cmd
}

// execute runs the process of a turn to its end. If ctx ends or the run exceeds the plan's RunTimeout, execute asks the
// process to end. It kills the process after Options.Grace. reason is the last message of the process; late reports a
// timeout.
func (s *session) execute(ctx context.Context, t sweep.Turn) (reason string, late bool) {
	var said tail
	cmd := s.command(t)
	cmd.Stderr = &said
	beats, err := s.listen(cmd)
	if err != nil {
		return draft.Cause(err).Error(), false
	}
	defer beats.close()
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when the forking thread ends, so this thread must live as long as
		// the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		beats.started()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return draft.Cause(err).Error(), false
	}
	s.at("run after start: " + t.ID())
	var timeout <-chan time.Time
	if s.plan.RunTimeout > 0 {
		timer := time.NewTimer(s.plan.RunTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = s.end(cmd.Process, ended)
	case <-timeout:
		late = true
		err = s.end(cmd.Process, ended)
	}
	if last := said.last(); last != "" {
		return last, late
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return err.Error(), late
	}
	return "it ended without output", late
}

// end asks a run to end and waits for it.
func (s *session) end(p *os.Process, ended <-chan error) error {
	defer s.options.Ending()()
	_ = p.Signal(os.Interrupt) // an error means that it has ended
	late := time.NewTimer(s.options.Grace)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	_ = p.Kill()
	return <-ended
}

// reasonOf returns the reason why a run is not complete. Normally the reason is the problem in the run folder. If the
// folder holds no run or shows only that the run did not end, the reason is the last message of the process.
func reasonOf(dir, wrong, said string) string {
	if !folder.IsRun(dir) || wrong == result.Running {
		return said
	}
	return wrong
}

// tail keeps the beginning and the end of a process's output.
type tail struct{ start, end []byte }

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	first := min(len(p), tailBytes-len(t.start))
	t.start = append(t.start, p[:first]...)
	t.end = append(t.end, p[first:]...)
	if len(t.end) > 2*tailBytes {
		t.end = append(t.end[:0], t.end[len(t.end)-tailBytes:]...)
	}
	return len(p), nil
}

// last returns the most useful line of the output. It prefers the last line with psbench's prefix, then the first line
// of a Go crash, then the last line.
func (t *tail) last() string {
	const own = "psbench: "
	var said, crash, last string
	for line := range strings.Lines(strings.ToValidUTF8(string(t.start)+string(t.end), "?")) {
		line := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, own):
			said = strings.TrimPrefix(line, own)
		case crash == "" && crashes.MatchString(line):
			crash = line
		case line != "":
			last = line
		}
	}
	return cmp.Or(said, crash, last)
}

// crashes matches the first line of a Go program's crash.
var crashes = regexp.MustCompile(`^(panic|fatal error|SIG[A-Z]+): `)
