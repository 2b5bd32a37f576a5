package ssh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/quote"
)

// session is one ssh process whose remote command is an agent.
type session struct {
	host  launchers.Host
	rank  int
	cmd   *exec.Cmd
	input io.WriteCloser // the agent runs while this is open
	heard *answer
	said  *lastLine
	came  bool // the agent has answered
	ended chan struct{}
	err   error // the error of ssh, set after ssh has ended
}

// outputDelay limits how long to wait for output after ssh has ended. Background processes may still hold the pipe
// open.
const outputDelay = time.Second

// These are exit statuses of shells: the program cannot be run, or the program does not exist.
const (
	cannotRun = 126
	notThere  = 127
)

// begin starts ssh in its own process group. Ctrl-C then reaches only the core, which ends the run in order.
func begin(words []string, host launchers.Host, rank int) (*session, error) {
	s := &session{
		host: host, rank: rank, heard: &answer{lines: make(chan string, 1)}, said: &lastLine{},
		ended: make(chan struct{}),
		cmd:   exec.Command(words[0], words[1:]...), // #nosec G204 -- the user's ssh
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.cmd.WaitDelay = outputDelay
	s.cmd.Stdout, s.cmd.Stderr = s.heard, s.said
	var err error
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		_ = s.input.Close()
		return nil, err
	}
	return s, nil
}

// wait waits until ssh has ended.
func (s *session) wait() {
	s.err = s.cmd.Wait()
	close(s.ended)
}

// invite sends the agent its invitation and returns its answer.
func (s *session) invite(ctx context.Context, i Invitation) (t rollcall.Task, err error) {
	text, err := json.Marshal(i) // #nosec G117 -- for ssh alone
	if err != nil {
		return t, err
	}
	_, _ = s.input.Write(append(text, '\n')) // ignored, because an agent that failed reports the reason when it ends
	select {
	case line := <-s.heard.lines:
		if t, err = rollcall.Decode(line); err != nil {
			return t, fmt.Errorf("the answer of %s cannot be read: %w; give all hosts the same psbench", s.name(), err)
		}
		if t.Rank != s.rank {
			return t, fmt.Errorf("the agent of %s says that it is rank %d", s.name(), t.Rank)
		}
		s.came = true
		return t, nil
	case <-s.ended:
		return t, fmt.Errorf("no agent on %s: %w", s.name(), s.why())
	case <-ctx.Done():
		return t, context.Cause(ctx)
	}
}

// name returns the host's name and rank for messages.
func (s *session) name() string { return fmt.Sprintf("%s (rank %d)", s.host.Name, s.rank) }

// why returns an error that says why ssh ended.
func (s *session) why() error {
	var exit *exec.ExitError
	what := "exit status 0"
	if s.err != nil {
		what = s.err.Error()
	}
	text := fmt.Sprintf("ssh has ended (%s): %s", what, cmp.Or(quote.Message(s.said.String()), "it said nothing"))
	if errors.As(s.err, &exit) && (exit.ExitCode() == notThere || exit.ExitCode() == cannotRun) {
		text += "; a line of the hosts file can say where psbench is, as in " + quote.Word(s.host.Name) +
			" psbench=/opt/psbench"
	}
	return errors.New(text)
}

// endLimit limits how long an agent may take to end.
const endLimit = 10 * time.Second

// end ends the agent and its ssh. end does not wait for an agent that has not answered. Such an agent ends when it
// finds no core.
func (s *session) end() {
	_ = s.input.Close()
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	if !s.came {
		limit.Reset(0)
	}
	select {
	case <-s.ended:
	case <-limit.C:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // also kills processes that connect through jump hosts
		<-s.ended
	}
}

// answer reads the standard output of ssh and extracts the agent's line.
type answer struct {
	lines chan string // receives at most one line
	line  []byte
	over  bool
}

// Write implements io.Writer.
func (a *answer) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0 && !a.over; {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		if a.line = append(a.line, text[:min(len(text), longestLine-len(a.line))]...); whole {
			line, is := strings.CutPrefix(string(a.line), mark)
			if is {
				a.lines <- line
				a.over = true
			}
			a.line = a.line[:0]
		}
		rest = after
	}
	return len(b), nil
}

// lastLine reads the standard error of ssh and keeps the last line with text, which usually gives the reason.
type lastLine struct {
	mu         sync.Mutex
	line, last []byte
}

// longestWord limits how many bytes of a line are kept.
const longestWord = 1 << 10

// Write implements io.Writer.
func (l *lastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		if l.line = append(l.line, text[:min(len(text), longestWord-len(l.line))]...); whole {
			if len(bytes.TrimSpace(l.line)) > 0 {
				l.last = append(l.last[:0], l.line...)
			}
			l.line = l.line[:0]
		}
		rest = after
	}
	return len(b), nil
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line
	if len(bytes.TrimSpace(line)) == 0 {
		line = l.last
	}
	return strings.TrimPrefix(strings.TrimSpace(string(line)), "psbench: ")
}
