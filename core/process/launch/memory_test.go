package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch/limit"
)

// growing returns a plugin that allocates memory endlessly, in a shell variable.
func growing(t *testing.T, bytes int64) registry.Plugin {
	t.Helper()
	plugin := program(t, `x=0123456789abcdef; while :; do x=$x$x; done`)
	plugin.Memory = bytes
	return plugin
}

// A plugin that exceeds its memory limit dies, and the error names the limit. Neither the plugin nor the run leaves a
// cgroup behind.
func TestMemoryIsBounded(t *testing.T) {
	l := launcher(t)
	_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: growing(t, 64<<20)})
	if err == nil ||
		!strings.Contains(err.Error(), " during its start, because it needs more than the 64MiB of --plugin-memory") {
		t.Errorf("the start gave %v", err)
	}
	if err := l.Close(false); err != nil {
		t.Error(err)
	}
	for _, left := range limit.GroupsOf(filepath.Base(l.Directory())) {
		t.Errorf("cgroup %s is left", left.Path())
	}
}

// A memory limit does not affect a plugin that stays below it. Arguments, environment and the hashed file stay the
// same.
func TestBoundedProcessesRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := launcher(t)
	mine := registry.Plugin{Name: "mine", Command: []string{self, BuiltinArgument, "one"}, SHA256: sumText(t, self),
		Memory: 1 << 50}
	p, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: mine})
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile("/proc/" + p.child.ID() + "/cmdline")
	if want := strings.Join(mine.Command, "\x00") + "\x00"; err != nil || string(words) != want {
		t.Errorf("the plugin's arguments are %q, want %q (%v)", words, want, err)
	}
}

// If there is no cgroup or the process cannot join it, RLIMIT_DATA limits the memory. The limit leaves room for the
// race detector, which allocates until the process becomes the plugin.
func TestMemoryWithoutACgroup(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "group")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"", empty} {
		t.Run(group, func(t *testing.T) {
			path, args := wrap(limit.Memory{Bytes: 1 << 30, Group: group}, "/bin/sh",
				[]string{"sh", "-c", "ulimit -d"})
			cmd := &exec.Cmd{Path: path, Args: args}
			out, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(out)) != "1048576" {
				t.Errorf("a limit of 1 GiB is %q KiB (%v)", out, err)
			}
		})
	}
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("the cgroup that cannot be joined is there: %v", err)
	}
}

// If there is a cgroup, the kernel's count says whether a process died of its limit. Without a cgroup, the message of
// the process's runtime says so. Similar words elsewhere in the output do not count.
func TestWantOfMemory(t *testing.T) {
	failed := syscall.WaitStatus(2 << 8)
	for _, c := range []struct {
		said  string
		ended end
		want  bool
	}{
		{"fatal error: runtime: out of memory\n\nruntime stack:\n", end{Status: failed}, true},
		{"runtime: out of memory: cannot allocate 4194304-byte block (1 in use)\nfatal error: out of memory\n",
			end{Status: failed}, true},
		{"sh: 1: Cannot allocate memory\n", end{Status: failed}, true},
		{"bash: xrealloc: cannot allocate 18446744071562068096 bytes\n", end{Status: failed}, true},
		{"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
			end{Status: failed}, true},
		{"Traceback (most recent call last):\nMemoryError\n", end{Status: failed}, true},
		{"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8. EiB\n", end{Status: failed}, true},
		{"memory allocation of 1099511627776 bytes failed\n", end{Status: failed}, true},
		{"panic: the device is out of memory\n\ngoroutine 1 [running]:\n", end{Status: failed}, false},
		{"fatal error: all goroutines are asleep - deadlock!\n", end{Status: failed}, false},
		{"psbench has a MemoryError to learn from\nno more\n", end{Status: failed}, false},
		{"sh: 1: Cannot allocate memory\n", end{}, false},
		{"fatal error: runtime: out of memory\n", end{Status: failed, Counted: true}, false},
		{"no more\n", end{Status: failed, Counted: true, Exceeded: true}, true},
	} {
		t.Run(fmt.Sprintf("%.60s", c.said), func(t *testing.T) {
			words, err := newWords("trainer0", Output{})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = words.stream().Write([]byte(c.said))
			p := &child{memory: 64 << 20, words: words, ended: &c.ended}
			if got := p.exceeded(); got != c.want {
				t.Errorf("%q of %+v: exceeded is %v", c.said, c.ended, got)
			}
		})
	}
}
