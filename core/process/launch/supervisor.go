package launch

import (
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/process/launch/limit"
	"github.com/psbench/psbench/internal/host"
)

// supervisorFD is the file descriptor of the supervisor's connection to the core.
const supervisorFD = 3

// endTimeout limits how long the supervisor tries to kill what plugins have started.
const endTimeout = 5 * time.Second

// supervisor is the process that starts plugins and kills everything that they leave behind. All its descendants belong
// to one run, and orphans among them become its children. The supervisor lives slightly longer than the core. The
// supervisor notices the core's end when its connection to the core ends.
type supervisor struct {
	folder *folder
	forks  chan func()
	born   chan struct{} // receives a token after each start

	mu      sync.Mutex
	plugins map[int]*supervised // plugins that are not yet reaped
	groups  []*limit.Group      // cgroups that were made
	over    bool                // no more programs may be started
}

// supervised is one plugin process.
type supervised struct {
	pid    int
	killed bool // the plugin was alive when the supervisor killed it
	group  *limit.Group
	ended  chan syscall.WaitStatus
}

// supervise is the main function of the supervisor process. supervise returns the exit status.
func supervise() int {
	// The supervisor catches the signals that forkAll unblocks, instead of ignoring them. In a program that the
	// supervisor starts, a caught signal has its default effect again, but an ignored signal would stay ignored.
	signal.Notify(make(chan os.Signal, 1), shielded...)
	core, err := connOf(os.NewFile(supervisorFD, "core"))
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "psbench starts this process by itself; there is nothing to start by hand")
		return 2
	}
	s := &supervisor{forks: make(chan func()), born: make(chan struct{}, 1), plugins: map[int]*supervised{}}
	if err := s.begin(); err != nil {
		_ = gob.NewEncoder(core).Encode(greeting{Error: err.Error()})
		return 1
	}
	go s.forkAll()
	go s.reapAll()
	if err := gob.NewEncoder(core).Encode(greeting{Folder: s.folder.path}); err == nil {
		go clearDead(base())
		s.serve(core)
	}
	return s.end()
}

// begin makes this process adopt orphans among its descendants, and makes the folder.
func (s *supervisor) begin() (err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("the supervisor cannot adopt orphans: %w", err)
	}
	s.folder, err = makeFolder(base())
	return err
}

// serve starts programs until the core is gone.
func (s *supervisor) serve(core *net.UnixConn) {
	for {
		o, files, err := receiveOrder(core)
		if err != nil {
			return
		}
		go s.run(o, files)
	}
}

// end kills everything that is left, removes the folder and returns the exit status.
func (s *supervisor) end() int {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	status := 0
	for deadline := time.Now().Add(endTimeout); !childless(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			status = 1
			break
		}
		killDescendants()
	}
	for _, g := range s.groups {
		g.Remove()
	}
	if s.folder.remove() != nil {
		status = 1
	}
	return status
}

// run starts a program and reports its start and its end to the core. run kills the program when the connection of the
// order ends. The connection ends when the core asks for this or is gone.
func (s *supervisor) run(o order, files []*os.File) {
	line, err := connOf(files[0])
	if err != nil {
		return
	}
	defer func() { _ = line.Close() }()
	p, err := s.start(o, files[1:])
	for _, f := range files[1:] {
		_ = f.Close()
	}
	out := gob.NewEncoder(line)
	if err != nil {
		_ = out.Encode(birth{Error: err.Error()})
		return
	}
	_ = out.Encode(birth{PID: p.pid})
	go func() {
		_, _ = line.Read(make([]byte, 1))
		s.kill(p)
	}()
	status := <-p.ended
	exceeded, counted := p.group.Exceeded()
	_ = out.Encode(end{Status: status, Killed: p.killed, Exceeded: exceeded, Counted: counted})
}

// start starts a program as the leader of its own process group. Signals from the terminal then do not reach the
// program, so that the core can end its processes in order.
func (s *supervisor) start(o order, files []*os.File) (*supervised, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	attr := &os.ProcAttr{
		Env:   append(o.Env, host.DirectoryVariable+"="+s.folder.path),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if !o.Input {
		attr.Files = append([]*os.File{null}, files...)
	}
	path, args := o.Path, o.Args
	var group *limit.Group
	if o.Memory > 0 {
		group = s.memoryGroup(o.Memory)
		path, args = wrap(limit.Memory{Bytes: o.Memory, Group: group.Path()}, path, args)
	}
	done := make(chan struct{})
	var p *supervised
	s.forks <- func() {
		defer close(done)
		s.mu.Lock() // reapAll must find the plugin in the list
		defer s.mu.Unlock()
		if s.over {
			err = errors.New("the run is over")
			return
		}
		var started *os.Process
		err = onCPUs(o.CPUs, func() (err error) {
			started, err = os.StartProcess(path, args, attr)
			return err
		})
		if err == nil {
			p = &supervised{pid: started.Pid, group: group, ended: make(chan syscall.WaitStatus, 1)}
			s.plugins[p.pid] = p
			_ = started.Release()
		}
	}
	<-done
	select {
	case s.born <- struct{}{}:
	default:
	}
	return p, err
}

// memoryGroup makes a cgroup for a plugin. memoryGroup returns nil if that is impossible.
func (s *supervisor) memoryGroup(bytes int64) *limit.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // end is about to remove the cgroups
		return nil
	}
	g := limit.MakeGroup(fmt.Sprintf("%s.%d", filepath.Base(s.folder.path), len(s.groups)), bytes)
	if g != nil {
		s.groups = append(s.groups, g)
	}
	return g
}

// forkAll is the only goroutine that forks, and it keeps its thread permanently. If the supervisor is killed, the
// kernel's parent-death signal ends the plugins. But the kernel sends this signal when the thread that forked ends, not
// when the process does, and other threads of Go may end at any time. Children inherit the signals that the thread
// blocks, so forkAll blocks none.
func (s *supervisor) forkAll() {
	runtime.LockOSThread()
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, shieldedMask(), nil)
	for fork := range s.forks {
		fork()
	}
}

// kill kills a plugin and its process group, unless the plugin has ended.
func (s *supervisor) kill(p *supervised) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plugins[p.pid] != p {
		return
	}
	if now, ok := statOf(p.pid); ok && !now.Exiting {
		p.killed = true
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	_ = unix.Kill(p.pid, unix.SIGKILL) // the plugin may have changed its group
}

// reapAll reaps every child: plugins and orphans. reapAll kills the group of a plugin before it reaps the plugin. Until
// then the group's ID, which is the plugin's process ID, cannot be reused. Processes that have left the group are
// killed when the run ends.
func (s *supervisor) reapAll() {
	for {
		pid, err := nextExit(0)
		switch {
		case errors.Is(err, unix.ECHILD):
			<-s.born
			continue
		case err != nil:
			continue
		}
		s.mu.Lock()
		p := s.plugins[pid]
		if p != nil {
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		var status syscall.WaitStatus
		if reaped, _ := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); reaped == pid && p != nil {
			delete(s.plugins, pid)
			p.ended <- status
		}
		s.mu.Unlock()
	}
}

// childless reports whether this process has no children, not even children that wait to be reaped.
func childless() bool {
	_, err := nextExit(unix.WNOHANG)
	return errors.Is(err, unix.ECHILD)
}

// nextExit waits until a child has ended and returns its process ID. nextExit does not reap the child.
func nextExit(options int) (pid int, err error) {
	var info unix.Siginfo
	err = unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	// Package unix has no name for the field with the process ID. The field is the first word after the three named
	// fields, aligned like a pointer.
	const at = (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at))), err // #nosec G103 -- siginfo_t has it there
}
