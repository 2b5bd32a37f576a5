// Package launch starts, watches and stops plugin processes.
//
// No process that a plugin starts outlives the core, however the core ends. The core does not start plugins itself. A
// supervisor process starts them, lives slightly longer than the core, and adopts orphans. When the core is gone, the
// supervisor kills all its descendants. If the supervisor is killed, the kernel's parent-death signal ends the plugins.
package launch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch/limit"
	"github.com/psbench/psbench/core/process/launchers/pmix"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/sdk"
)

// BuiltinArgument as the first argument makes the executable serve the built-in parts instead of reading a command
// line. The second argument is the process's name, which people see when they list processes.
const BuiltinArgument = "__builtin-plugin"

// SupervisorArgument as the first argument makes the executable the supervisor of a run.
const SupervisorArgument = "__supervisor"

// LimitArgument as the first argument makes the executable limit its own memory, and then execute the program that
// follows. This detour is needed because Go cannot run code between fork and exec.
const LimitArgument = "__limit"

// Child does the work for which the core started this executable, with these built-in parts. If a user started the
// executable, Child returns false at once.
func Child(parts func() []sdk.Part) bool {
	if len(os.Args) < 2 {
		return false
	}
	switch os.Args[1] {
	case BuiltinArgument:
		host.Serve(parts()...)
	case SupervisorArgument:
		os.Exit(supervise())
	case devices.Argument:
		os.Exit(devices.Child())
	case pmix.Argument:
		os.Exit(pmix.Child())
	case LimitArgument:
		_, _ = fmt.Fprintln(os.Stderr, "psbench:", limit.Become(os.Args[2:]))
		os.Exit(1)
	default:
		return false
	}
	return true
}

// Spec describes a process to start.
type Spec struct {
	Name   string // such as trainer0, data or trainer0.hook
	Plugin registry.Plugin
	Env    []string // variables in addition to the core's own environment
	// CPUs restricts the process and its children to these CPUs. Empty means the core's CPUs.
	CPUs machine.CPUs
	// Input gives the process the core's standard input instead of /dev/null.
	Input bool
}

// Launcher owns the processes of one run, and the folder for their sockets.
type Launcher struct {
	directory  string
	timeout    time.Duration // how long a starting process may be silent
	output     Output
	supervisor *exec.Cmd
	gone       chan struct{} // closed once the supervisor has ended

	sending sync.Mutex
	orders  *net.UnixConn // closing it ends the supervisor

	python       sync.Once
	pythonFolder string // where Python plugins find the package psbench
	pythonError  error

	mu        sync.Mutex
	processes []*Process
	closed    bool
}

// New returns a launcher with an empty folder for sockets. timeout limits how long a starting process may be silent.
// output receives what the processes print.
func New(timeout time.Duration, output Output) (*Launcher, error) {
	if err := output.prepare(); err != nil {
		return nil, err
	}
	l := &Launcher{timeout: timeout, output: output, gone: make(chan struct{})}
	orders, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	l.orders = orders
	l.supervisor = builtin(SupervisorArgument)
	l.supervisor.Env = inherited()
	l.supervisor.ExtraFiles = []*os.File{theirs}
	// In its own process group, a stopped supervisor is resumed by the kernel when the core dies.
	l.supervisor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startShielded(l.supervisor.Start); err != nil {
		return nil, errors.Join(fmt.Errorf("the supervisor process cannot be started: %w", err), orders.Close())
	}
	go func() {
		_ = l.supervisor.Wait()
		close(l.gone)
	}()
	if err := l.greet(); err != nil {
		_ = l.orders.Close()
		_ = l.supervisor.Process.Kill()
		<-l.gone
		return nil, err
	}
	return l, nil
}

// greet waits until the supervisor has sent the path of its folder.
func (l *Launcher) greet() error {
	if err := l.orders.SetReadDeadline(time.Now().Add(l.patience())); err != nil {
		return err
	}
	var g greeting
	err := gob.NewDecoder(l.orders).Decode(&g)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &comm.WaitError{Waiter: "the core", For: []string{"its supervisor"}, What: "a folder for sockets",
			Seconds: l.patience().Seconds()}
	case err != nil:
		return errors.New("the supervisor process ended at its start")
	case g.Error != "":
		return errors.New(g.Error)
	}
	l.directory = g.Folder
	return nil
}

// patience limits how long the supervisor may take to answer. Starting the supervisor is not part of the measurement,
// so a short timeout of the run does not apply.
func (l *Launcher) patience() time.Duration { return max(l.timeout, handshakeTimeout) }

// Supervisor returns the process ID of the supervisor.
func (l *Launcher) Supervisor() int { return l.supervisor.Process.Pid }

// Directory returns the run's folder of sockets.
func (l *Launcher) Directory() string { return l.directory }

// order sends the supervisor an order to start a program.
func (l *Launcher) order(o order, files ...*os.File) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	return sendOrder(l.orders, o, files, time.Now().Add(l.patience()))
}

// Start starts a process and waits for its handshake. If ctx ends first, Start kills the process.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := newProcess(l, spec)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.program.close()
		p.words.close()
		return nil, fmt.Errorf("%s was not started: the run is over", spec.Name)
	}
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, p.connect(ctx)
}

// Close ends all processes, waits until they have ended, and removes the folder. If gently is set, Close asks each
// process to end before killing it.
func (l *Launcher) Close(gently bool) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	processes := l.processes
	l.mu.Unlock()
	_ = l.supervisor.Process.Signal(syscall.SIGCONT) // resumes the supervisor if it was stopped
	var wg sync.WaitGroup
	for _, p := range processes {
		wg.Go(func() { p.stop(gently) })
	}
	wg.Wait()
	_ = l.orders.Close()
	deadline := time.AfterFunc(endTimeout+stopTimeout, func() { _ = l.supervisor.Process.Kill() })
	<-l.gone
	deadline.Stop()
	if state := l.supervisor.ProcessState; !state.Success() {
		return l.tidy(state)
	}
	return nil
}

// tidy cleans up what a failed supervisor could not clean up.
func (l *Launcher) tidy(state *os.ProcessState) error {
	killHolders(l.directory)
	clearGroups(l.directory)
	if err := os.RemoveAll(l.directory); err != nil {
		return fmt.Errorf("the run's folder %s cannot be removed: %w", l.directory, err)
	}
	if state.ExitCode() == 1 {
		return fmt.Errorf("processes that plugins started did not end within %v", endTimeout)
	}
	return fmt.Errorf("the supervisor (process %d) ended before the run: %v", state.Pid(), state)
}

// builtin returns a command that runs psbench itself. builtin uses /proc/self/exe and not the path of the executable,
// so that a rebuild during a run cannot mix versions.
func builtin(arguments ...string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{filepath.Base(os.Args[0])}, arguments...)}
}

// wrap returns the path and arguments of the command that starts a program with limited memory.
func wrap(m limit.Memory, path string, args []string) (string, []string) {
	own := builtin(append(append([]string{LimitArgument}, m.Arguments()...), path)...)
	return own.Path, append(own.Args, args...)
}

// command returns the command that runs a plugin.
func (l *Launcher) command(spec Spec) (*exec.Cmd, error) {
	if spec.Plugin.Fault != nil {
		return nil, spec.Plugin.Fault
	}
	cmd := builtin(BuiltinArgument, spec.Name)
	if len(spec.Plugin.Command) > 0 {
		path, err := exec.LookPath(spec.Plugin.Command[0])
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: chmod +x makes it a program", err)
		}
		if err != nil {
			return nil, fmt.Errorf("plugin %s cannot be started: %w", spec.Plugin.Name, err)
		}
		cmd.Path, cmd.Args = path, spec.Plugin.Command
	}
	cmd.Env = append(inherited(), spec.Env...)
	if len(spec.Plugin.Command) > 0 {
		python, err := l.pythonPath()
		if err != nil {
			return nil, err
		}
		cmd.Env = append(slices.DeleteFunc(cmd.Env, isPythonPath), python)
	}
	return cmd, nil
}

// inherited returns the core's environment without the variables that only processes of a run should get. The core may
// have such variables if a process of another run started it, or if a user copied that environment. go-plugin reads the
// variables whose names contain PLUGIN.
func inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case host.Handshake.MagicCookieKey, host.DirectoryVariable, host.CUDADeviceVariable, "PLUGIN_CLIENT_CERT",
			"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT",
			"PLUGIN_MULTIPLEX_GRPC", "PLUGIN_PROTOCOL_VERSIONS", plugin.EnvUnixSocketDir, plugin.EnvUnixSocketGroup:
			return true
		}
		return false
	})
}
