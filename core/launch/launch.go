// Package launch starts, guards and stops plugin processes.
//
// No process outlives the core, however it ends. Each inherits a pipe whose
// end-of-file says that the core is gone, and carries a parent-death signal for
// the case that it does not listen. Since that signal may leave nobody to remove
// the run's socket folder, a small janitor process without it is started before
// the folder is made; it does nothing but wait on the pipe.
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
)

// BuiltinArgument as the first argument makes the executable serve the
// built-in parts instead of being a command line. The process's name follows,
// for whoever looks at a list of processes.
const BuiltinArgument = "__builtin-plugin"

// Spec is a process to start.
type Spec struct {
	Name   string // trainer0, data, trainer0.hook
	Plugin registry.Plugin
	Env    []string // in addition to the core's own environment
}

// Launcher owns the processes of one run and their socket folder.
type Launcher struct {
	directory string
	guard     *os.File // read end, inherited by every process
	alive     *os.File // write end, closed when the core is gone
	janitor   *exec.Cmd

	handshake time.Duration // bounds the time from exec to the plugin's first line

	starts  chan start
	starter sync.WaitGroup

	mu        sync.Mutex
	processes []*Process
	closed    bool
}

// start asks the starter goroutine to start a command.
type start struct {
	cmd  *exec.Cmd
	done chan error
}

// longestBase keeps the paths of sockets below the 108 bytes that the kernel
// allows.
const longestBase = 40

// base is the folder for the socket folder. A plugin tells its socket's path in a line
// of fields between bars, so the path must not have any of these.
func base() string {
	dir := os.TempDir()
	if len(dir) > longestBase || strings.ContainsFunc(dir, func(r rune) bool { return r == '|' || !unicode.IsPrint(r) }) {
		return "/tmp"
	}
	return dir
}

// New makes a launcher with an empty socket folder of its own.
func New() (*Launcher, error) {
	l := &Launcher{directory: filepath.Join(base(), sdk.DirectoryPrefix+rand.Text()[:12]), handshake: handshakeTimeout, starts: make(chan start)}
	var err error
	if l.guard, l.alive, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("the guard pipe cannot be made: %w", err)
	}
	if err := l.startJanitor(); err != nil {
		return nil, errors.Join(err, l.guard.Close(), l.alive.Close())
	}
	l.starter.Add(1)
	go l.startAll()
	if err := os.Mkdir(l.directory, 0o700); err != nil {
		_ = l.Close(false)
		return nil, fmt.Errorf("the folder for sockets cannot be made: %w", err)
	}
	return l, nil
}

// startJanitor starts the process that removes the folder if the core cannot.
func (l *Launcher) startJanitor() error {
	l.janitor = l.builtin("janitor")
	l.janitor.Env = append(os.Environ(), sdk.JanitorVariable+"="+l.directory)
	if err := l.janitor.Start(); err != nil {
		return fmt.Errorf("the janitor process cannot be started: %w", err)
	}
	return nil
}

// Directory is the run's socket folder.
func (l *Launcher) Directory() string { return l.directory }

// startAll is the only goroutine that starts plugins, on a thread that it keeps
// for as long as any of them lives. The kernel sends the parent-death signal
// when the thread that forked ends, not when the process does; on a thread of
// the Go runtime's pool it would come at some arbitrary time.
func (l *Launcher) startAll() {
	defer l.starter.Done()
	runtime.LockOSThread()
	for s := range l.starts {
		s.done <- s.cmd.Start()
	}
}

// Start starts a process and waits for its handshake. When ctx ends first, the
// process is killed.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := newProcess(l, spec)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.program.close()
		return nil, fmt.Errorf("%s was not started: the run is over", spec.Name)
	}
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, p.connect(ctx)
}

// Close ends every process, waits for all of them and removes the folder. With
// gently set, each is asked to end before it is killed.
func (l *Launcher) Close(gently bool) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	processes := l.processes
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range processes {
		wg.Go(func() { p.stop(gently) })
	}
	wg.Wait()
	close(l.starts)
	l.starter.Wait()
	err := os.RemoveAll(l.directory)
	_ = l.guard.Close()
	_ = l.alive.Close()
	deadline := time.AfterFunc(stopTimeout, func() { _ = l.janitor.Process.Kill() })
	_ = l.janitor.Wait() // it ends with the pipe
	deadline.Stop()
	if err != nil {
		return fmt.Errorf("the run's folder %s cannot be removed: %w", l.directory, err)
	}
	return nil
}

// builtin is the command of the built-in plugin. It is not the path of the
// executable: a rebuild during a run must mix nothing.
func (l *Launcher) builtin(name string) *exec.Cmd {
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{filepath.Base(os.Args[0]), BuiltinArgument, name},
		ExtraFiles: []*os.File{l.guard},
		// A group of its own keeps the terminal's Ctrl-C from the process: the
		// core ends its processes in order.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
}

// command is the command of a plugin.
func (l *Launcher) command(spec Spec) (*exec.Cmd, error) {
	cmd := l.builtin(spec.Name)
	if len(spec.Plugin.Command) > 0 {
		path, err := exec.LookPath(spec.Plugin.Command[0])
		if err != nil {
			return nil, fmt.Errorf("plugin %s cannot be started: %w", spec.Plugin.Name, err)
		}
		cmd.Path, cmd.Args = path, spec.Plugin.Command
	}
	cmd.Env = spec.Env
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd, nil
}
