package launch

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/quote"
)

// child runs one command for go-plugin. Unlike go-plugin's own runner, it lets the supervisor start the process and
// report its end. The end of the pipes does not show that the process has ended, because a grandchild may keep them
// open.
type child struct {
	name     string
	program  string // path of a plugin's program; "" for psbench itself
	memory   int64  // limit in bytes; 0 means no limit
	cpus     machine.CPUs
	input    bool // gets the core's standard input
	launcher *Launcher
	cmd      *exec.Cmd

	stdout *handshake
	stderr *pipe
	words  *words
	exited chan struct{}
	ended  *end // set before exited is closed; nil if the supervisor died first

	mu      sync.Mutex
	line    *net.UnixConn // connection to the supervisor; closing it kills the process
	id      int           // process ID; 0 if the process never started
	stopped bool          // the process must not be started any more
}

var _ runner.Runner = (*child)(nil)

func newChild(l *Launcher, spec Spec, words *words) *child {
	return &child{name: spec.Name, memory: spec.Plugin.Memory, cpus: spec.CPUs, input: spec.Input, launcher: l,
		words: words, exited: make(chan struct{})}
}

// Start implements runner.Runner.
func (c *child) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("%s was stopped before it started", c.name)
	}
	var err error
	var stdout, stderr *os.File
	c.stdout = &handshake{words: c.words.stream()}
	if c.stdout.pipe, stdout, err = newPipe(c.stdout); err != nil {
		return err
	}
	c.stdout.pipe.ended = c.stdout.ended
	defer func() { _ = stdout.Close() }()
	if c.stderr, stderr, err = newPipe(c.words.stream()); err != nil {
		_ = c.stdout.Close()
		return err
	}
	defer func() { _ = stderr.Close() }()
	answers, err := c.order(stdout, stderr)
	if err != nil {
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		return fmt.Errorf("%s cannot be started: %w", c.name, err)
	}
	go c.watch(answers)
	return nil
}

// order sends the supervisor an order to start the process.
func (c *child) order(stdout, stderr *os.File) (*gob.Decoder, error) {
	line, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	files := []*os.File{theirs}
	if c.input {
		files = append(files, os.Stdin)
	}
	files = append(append(files, stdout, stderr), c.cmd.ExtraFiles...)
	err = c.launcher.order(order{c.cmd.Path, c.cmd.Args, c.cmd.Env, c.memory, c.cpus, c.input}, files...)
	var b birth
	answers := gob.NewDecoder(line)
	if err == nil {
		_ = line.SetReadDeadline(time.Now().Add(c.launcher.patience()))
		err = answers.Decode(&b)
		_ = line.SetReadDeadline(time.Time{})
	}
	switch {
	case err != nil:
		err = fmt.Errorf("the supervisor (process %d) does not answer: %w", c.launcher.supervisor.Process.Pid, err)
	case b.Error != "":
		err = errors.New(cmp.Or(c.fault(), b.Error))
	default:
		c.line, c.id = line, b.PID
		return answers, nil
	}
	return nil, errors.Join(err, line.Close())
}

// fault says why the system cannot run the plugin's file. fault returns "" if it finds no reason.
func (c *child) fault() string {
	if c.program == "" {
		return ""
	}
	return executable.Fault(c.program)
}

// watch waits for the end of the process, and then gives readers of its pipes a deadline.
func (c *child) watch(answers *gob.Decoder) {
	var e end
	if answers.Decode(&e) == nil {
		c.ended = &e
	}
	_ = c.line.Close()
	c.stdout.expire()
	c.stderr.expire()
	close(c.exited)
}

// kill kills the process and its process group.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.id != 0 {
		_ = c.line.CloseWrite()
	}
}

// hangs waits until the process has been idle for the launcher's timeout, so that it must be stopped or asleep. A
// process that computes or waits for a CPU does not hang. If done is closed first, hangs returns false.
func (c *child) hangs(done <-chan struct{}) bool {
	timeout := c.launcher.timeout
	tick := time.NewTicker(min(timeout/10, time.Second))
	defer tick.Stop()
	var used time.Duration
	for last := time.Now(); ; {
		select {
		case <-done:
			return false
		case now := <-tick.C:
			pid := c.pid() // blocks until the supervisor has started the process
			switch it, there := statOf(pid); {
			case !there || it.Exiting:
				last = time.Now() // the supervisor will soon report its end
			case it.State == "R" || it.CPU > used:
				used, last = it.CPU, now
			case now.Sub(last) >= timeout/2:
				// Finding the members of the group means reading all processes. If many processes are starting, doing
				// this at every tick would cost more CPU time than the starts.
				if cpu, running := active(pid); running || cpu != used {
					used, last = cpu, now
				}
			}
			if now.Sub(last) >= timeout {
				return true
			}
		}
	}
}

// wait waits until the process has ended. wait returns at once if the process never started.
func (c *child) wait() {
	if c.pid() != 0 {
		<-c.exited
	}
}

// diedAlone reports, after the end of the process, whether the process ended without being killed by the core.
func (c *child) diedAlone() bool { return c.ended == nil || !c.ended.Killed }

// succeeded reports, after the end of the process, whether it exited with status 0 without being killed.
func (c *child) succeeded() bool { return c.ended != nil && !c.ended.Killed && c.ended.Status == 0 }

// drained waits until words has received all output of the process.
func (c *child) drained() {
	if c.pid() == 0 {
		return
	}
	late := time.After(20 * leftover) // limit in case no one reads the pipes
	for _, p := range []*pipe{c.stdout.pipe, c.stderr} {
		select {
		case <-p.end:
		case <-late:
			return
		}
	}
}

func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Wait implements runner.Runner.
func (c *child) Wait(context.Context) error {
	<-c.exited
	if c.ended == nil || c.ended.Status != 0 {
		return errors.New(c.status("the run"))
	}
	return nil
}

// exitGrace is how long a process that has closed its output may take to end. A process that has already been silent
// for too long does not get this time.
const exitGrace = time.Second

// Kill implements runner.Runner. go-plugin treats the end of standard output as a failed start and calls Kill. Kill
// gives a process that is ending some time to finish, because the user needs its exit status.
func (c *child) Kill(context.Context) error {
	select {
	case <-c.stdout.end:
		select {
		case <-c.exited:
		case <-time.After(min(exitGrace, c.launcher.timeout/2)):
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

// PluginToHost implements runner.Runner. PluginToHost checks the address in the plugin's handshake before the core
// connects to it.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	inside, err := filepath.Rel(c.launcher.directory, address)
	if network != "unix" || err != nil || !filepath.IsLocal(inside) {
		at := network + ":" + address
		return "", "", fmt.Errorf("it asks to be called at %s, which is no Unix socket in the run's folder %s",
			quote.String(at), c.launcher.directory)
	}
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
