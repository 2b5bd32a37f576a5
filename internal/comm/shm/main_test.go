package shm

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/comm/commtest"
)

// patience is the timeout of every wait in the tests.
const patience = 60 * time.Second

// helperVariable is the environment variable that makes the test executable run
// a helper instead of tests.
const helperVariable = "PSBENCH_SHM_TEST_HELPER"

// helpers are the main functions of the tests' other processes. Each
// communicates with its test over c.
var helpers = map[string]func(c *net.UnixConn) error{
	"address space":   helpAddressSpace,
	"bell":            helpBell,
	"cgroup":          helpCgroup,
	"descriptors":     helpDescriptors,
	"echo":            helpEcho,
	"idle":            helpIdle,
	"open and answer": helpOpenAndAnswer,
	"sleeper":         helpSleeper,
}

func TestMain(m *testing.M) {
	name := os.Getenv(helperVariable)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	c, err := unixConn(3)
	if err == nil {
		err = helpers[name](c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// helper is another process, which holds the other end of conn.
type helper struct {
	conn   *net.UnixConn
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// start starts the helper with this name. The end of the test kills the helper.
func start(t testing.TB, name string) *helper {
	t.Helper()
	mine, theirs := socketPair(t)
	end, err := theirs.File()
	must(t, err)
	defer func() { _ = end.Close() }()
	must(t, theirs.Close())

	self, err := os.Executable()
	must(t, err)
	command := append(commtest.Emulator(), self)
	h := &helper{conn: mine, cmd: exec.CommandContext(t.Context(), command[0], command[1:]...)}
	h.cmd.Env = append(os.Environ(), helperVariable+"="+name)
	h.cmd.ExtraFiles = []*os.File{end}
	h.cmd.Stderr = &h.stderr
	must(t, h.cmd.Start())
	t.Cleanup(func() {
		if h.cmd.ProcessState == nil {
			_ = h.cmd.Process.Kill()
			_ = h.cmd.Wait()
		}
	})
	return h
}

// wait waits for the helper to end without an error and returns the rest of its
// output.
func (h *helper) wait(t testing.TB) string {
	t.Helper()
	report, readErr := io.ReadAll(h.conn)
	if err := h.cmd.Wait(); err != nil {
		t.Fatalf("the helper failed: %v\n%s", err, h.stderr.String())
	}
	must(t, readErr)
	return string(report)
}

// socketPair returns two connected sockets.
func socketPair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	a, err = unixConn(fds[0])
	must(t, err)
	b, err = unixConn(fds[1])
	must(t, err)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// unixConn makes a connection from a socket and owns the socket afterwards.
func unixConn(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = file.Close() }()
	c, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), c.SetDeadline(time.Now().Add(patience))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// requireError requires an error whose text contains all parts.
func requireError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("the error is %q, want it to have %q", err, part)
		}
	}
}

// openDescriptors counts the descriptors of this process.
func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// duplicate returns another descriptor of the same file.
func duplicate(t testing.TB, fd int) int {
	t.Helper()
	twin, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	must(t, err)
	return twin
}
