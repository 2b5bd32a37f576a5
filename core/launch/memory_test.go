package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/registry"
)

// growing is a plugin that allocates without end: what a shell reads into a variable.
func growing(t *testing.T, bytes int64) registry.Plugin {
	t.Helper()
	plugin := program(t, `x=0123456789abcdef; while :; do x=$x$x; done`)
	plugin.Memory = bytes
	return plugin
}

// A plugin gets no more memory than it may use, and its death says why. A cgroup is left neither
// by it nor by the run.
func TestMemoryIsBounded(t *testing.T) {
	l := launcher(t)
	_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: growing(t, 64<<20)})
	if err == nil || !strings.Contains(err.Error(), " during its start, as it wants more than the 64MiB of --plugin-memory") {
		t.Errorf("the start gave %v", err)
	}
	if err := l.Close(false); err != nil {
		t.Error(err)
	}
	for _, parent := range memoryGroups() {
		if left, _ := filepath.Glob(filepath.Join(parent, filepath.Base(l.Directory())+".*")); len(left) > 0 {
			t.Errorf("cgroups %v are left", left)
		}
	}
}

// Who has enough is not disturbed: arguments, environment and what was hashed stay as they are.
func TestBoundedProcessesRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := launcher(t)
	mine := registry.Plugin{Name: "mine", Command: []string{self, BuiltinArgument, "one"}, SHA256: sumText(t, self), Memory: 1 << 50}
	p, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: mine})
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile("/proc/" + p.child.ID() + "/cmdline")
	if want := strings.Join(mine.Command, "\x00") + "\x00"; err != nil || string(words) != want {
		t.Errorf("the plugin's arguments are %q, want %q (%v)", words, want, err)
	}
}

// Without a cgroup RLIMIT_DATA bounds, and the words of who gets no memory are why it died.
func TestMemoryWithoutACgroup(t *testing.T) {
	path, args := limitation{bytes: 64 << 20}.wrap("/bin/sh", []string{"sh", "-c", "ulimit -d"})
	cmd := &exec.Cmd{Path: path, Args: args}
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "65536" {
		t.Errorf("a limit of 64 MiB is %q KiB (%v)", out, err)
	}
	for said, want := range map[string]bool{
		"fatal error: runtime: out of memory\n":         true,
		"sh: 1: Cannot allocate memory\n":               true,
		"terminate called after ... 'std::bad_alloc'\n": true,
		"panic: no more\n":                              false,
	} {
		words, err := newWords("trainer0", Output{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = words.stream(false).Write([]byte(said))
		c := &child{memory: 64 << 20, words: words, ended: &end{}}
		if got := c.exceeded(); got != want {
			t.Errorf("%q: exceeded is %v", said, got)
		}
	}
}
