package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/psbench/psbench/internal/quote"
)

// child runs one command for go-plugin. Unlike go-plugin's own runner it has
// the process started by the launcher's starter, and it notices the death of
// the process itself, not the end of its pipes, which a grandchild may hold.
type child struct {
	name      string
	directory string // the run's, where plugins listen
	starts    chan<- start
	cmd       *exec.Cmd

	stdout, stderr *pipe
	words          *tail // of standard error
	exited         chan struct{}
	state          *os.ProcessState // valid once exited is closed

	mu     sync.Mutex
	begun  bool // the process was started
	killed bool // it must not be started any more
	shot   bool // it was alive when it was killed
}

var _ runner.Runner = (*child)(nil)

func newChild(l *Launcher, name string, words *tail) *child {
	return &child{name: name, directory: l.directory, starts: l.starts, words: words, exited: make(chan struct{})}
}

// Start implements runner.Runner.
func (c *child) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return fmt.Errorf("%s was stopped before it started", c.name)
	}
	var err error
	var stdout, stderr *os.File
	if c.stdout, stdout, err = newPipe(io.Discard); err != nil {
		return err
	}
	defer func() { _ = stdout.Close() }()
	if c.stderr, stderr, err = newPipe(c.words); err != nil {
		_ = c.stdout.Close()
		return err
	}
	defer func() { _ = stderr.Close() }()
	c.cmd.Stdout, c.cmd.Stderr = stdout, stderr
	done := make(chan error, 1)
	c.starts <- start{c.cmd, done}
	if err := <-done; err != nil {
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		return fmt.Errorf("%s cannot be started: %w", c.name, err)
	}
	c.begun = true
	go c.reap()
	return nil
}

// reap waits for the process and then lets the readers of its pipes go.
func (c *child) reap() {
	c.state, _ = c.cmd.Process.Wait()
	c.stdout.expire()
	c.stderr.expire()
	close(c.exited)
}

// kill ends the process with everything that it started.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if !c.begun {
		return
	}
	select {
	case <-c.exited: // its number may belong to another process by now
	default:
		c.shot = true
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// wait returns once the process is gone, if it ever started.
func (c *child) wait() {
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	if begun {
		<-c.exited
	}
}

// diedAlone says, once the process is gone, whether it ended by itself.
func (c *child) diedAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		return !c.shot
	}
	ws, ok := c.state.Sys().(syscall.WaitStatus)
	return !c.shot || ok && (!ws.Signaled() || ws.Signal() != syscall.SIGKILL)
}

// drained waits until what the process wrote to its standard error is in words.
func (c *child) drained() {
	select {
	case <-c.stderr.end:
	case <-time.After(20 * leftover): // nobody reads it
	}
}

func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		return 0
	}
	return c.cmd.Process.Pid
}

// status says how the process ended, and during which phase.
func (c *child) status(phase string) string {
	if c.state == nil {
		return "ended in an unknown way during " + phase
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		if ws.Signal() == syscall.SIGKILL {
			return "was killed by signal 9 during " + phase + " (possibly out of memory)"
		}
		return fmt.Sprintf("was killed by signal %d (%s) during %s", ws.Signal(), ws.Signal(), phase)
	}
	return fmt.Sprintf("ended with exit status %d during %s", c.state.ExitCode(), phase)
}

// Wait implements runner.Runner.
func (c *child) Wait(context.Context) error {
	<-c.exited
	if c.state != nil && !c.state.Success() {
		return errors.New(c.state.String())
	}
	return nil
}

// Kill implements runner.Runner. go-plugin takes the end of the standard output
// for a failed start and kills; a process that ends by itself gets the time to
// do so, for how it ends is what the user wants to know.
func (c *child) Kill(context.Context) error {
	select {
	case <-c.stdout.end:
		select {
		case <-c.exited:
		case <-time.After(2 * leftover):
		}
	default:
	}
	c.kill()
	return nil
}

// Stdout implements runner.Runner.
func (c *child) Stdout() io.ReadCloser { return c.stdout }

// Stderr implements runner.Runner.
func (c *child) Stderr() io.ReadCloser { return c.stderr }

// Name implements runner.Runner.
func (c *child) Name() string { return c.name }

// Diagnose implements runner.Runner.
func (c *child) Diagnose(context.Context) string { return "" }

// ID implements runner.Runner.
func (c *child) ID() string {
	if pid := c.pid(); pid != 0 {
		return fmt.Sprint(pid)
	}
	return ""
}

// PluginToHost implements runner.Runner: it checks where the plugin's handshake asks the
// core to connect.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	inside, err := filepath.Rel(c.directory, address)
	if network != "unix" || err != nil || !filepath.IsLocal(inside) {
		at := network + ":" + address
		return "", "", fmt.Errorf("it asks to be called at %s, which is no Unix socket in the run's folder %s", quote.String(at), c.directory)
	}
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// pipe is the read end of a pipe that tells when it was read to its end. What is read
// goes to copied first: go-plugin passes a last line on only some time after the end.
type pipe struct {
	*os.File
	copied io.Writer
	end    chan struct{}
	once   sync.Once
}

func newPipe(copied io.Writer) (*pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("a pipe for a plugin cannot be made: %w", err)
	}
	return &pipe{File: r, copied: copied, end: make(chan struct{})}, w, nil
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	_, _ = p.copied.Write(b[:n]) // a tail takes everything
	if err != nil {
		p.once.Do(func() { close(p.end) })
		_ = p.Close()
	}
	return n, err
}

// leftover is how long after a process's end its pipes are still read, for
// what a grandchild that holds them may write.
const leftover = 50 * time.Millisecond

func (p *pipe) expire() { _ = p.SetReadDeadline(time.Now().Add(leftover)) }
