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

// supervisorFD is the supervisor's end of its connection to the core.
const supervisorFD = 3

// endTimeout bounds how long the supervisor tries to end what plugins have started.
const endTimeout = 5 * time.Second

// supervisor is the process that starts plugins and ends everything that they leave
// behind. Everything below it belongs to one run, and an orphan anywhere below it
// becomes its child. It lives a moment longer than the core, however that ends: the
// end of the connection tells it.
type supervisor struct {
	folder *folder
	forks  chan func()
	born   chan struct{} // has a token after a birth

	mu      sync.Mutex
	plugins map[int]*supervised // those that are not reaped
	groups  []*limit.Group      // that were made
	over    bool                // nothing may be started any more
}

// supervised is one plugin process.
type supervised struct {
	pid    int
	killed bool // it was alive when it was killed
	group  *limit.Group
	ended  chan syscall.WaitStatus
}

// supervise is the main function of the supervisor process; it returns its exit status.
func supervise() int {
	// What forkAll unblocks is caught. A caught signal, unlike an ignored one, has its
	// default effect again in a program that is started.
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

// begin adopts the orphans to come and makes the folder.
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

// run starts a program, says how it goes, and kills it when the core wants that or is
// gone, both of which ends the line.
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

// start starts a program as the leader of a group of its own, which keeps the
// terminal's signals from it: the core ends its processes in order.
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
		s.mu.Lock() // nobody may reap it before it is in the list
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

// memoryGroup makes a cgroup for a plugin, or gives nil where there can be none.
func (s *supervisor) memoryGroup(bytes int64) *limit.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // the groups are about to be removed
		return nil
	}
	g := limit.MakeGroup(fmt.Sprintf("%s.%d", filepath.Base(s.folder.path), len(s.groups)), bytes)
	if g != nil {
		s.groups = append(s.groups, g)
	}
	return g
}

// forkAll is the only goroutine that forks, on a thread that it keeps for good. The
// kernel sends the parent-death signal, which ends plugins whose supervisor was
// killed, when the thread that forked ends, not when the process does; on a thread of
// the Go runtime's pool it would come at some arbitrary time. What the thread blocks
// its children block too, so it blocks nothing.
func (s *supervisor) forkAll() {
	runtime.LockOSThread()
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, shieldedMask(), nil)
	for fork := range s.forks {
		fork()
	}
}

// kill ends a plugin with its group, unless it has ended.
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
	_ = unix.Kill(p.pid, unix.SIGKILL) // in whatever group it is by now
}

// reapAll waits for every child: plugins, and orphans of theirs. What a plugin leaves
// in its group is killed while the plugin still holds its number, which is the
// group's. What has left the group is killed at the end.
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

// childless says whether there is no child left, reaped or not.
func childless() bool {
	_, err := nextExit(unix.WNOHANG)
	return errors.Is(err, unix.ECHILD)
}

// nextExit waits until some child has ended, and leaves it to be reaped.
func nextExit(options int) (pid int, err error) {
	var info unix.Siginfo
	err = unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	// The package unix has no name for the process number, the first word after the
	// three that it names, at a place for a pointer.
	const at = (3*4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at))), err // #nosec G103 -- siginfo_t has it there
}
