package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
)

func sumText(t *testing.T, path string) string {
	t.Helper()
	sum, err := executable.SumOf(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// replaceFile atomically puts another file at path, as an update of a symbolic link does.
func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	other := path + ".other"
	if err := os.WriteFile(other, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
}

// startChanged starts a plugin, but replaces the file at path between the check and the start.
func startChanged(t *testing.T, plugin registry.Plugin, path, text string) (*Process, error) {
	t.Helper()
	l := launcher(t)
	p, err := newProcess(l, Spec{Name: "trainer0", Plugin: plugin})
	if err != nil {
		t.Fatal(err)
	}
	l.processes = append(l.processes, p)
	replaceFile(t, path, text)
	return p, p.connect(t.Context())
}

// psbench runs the file that it has hashed, even if the path points to another file by then.
func TestWhatIsHashedIsWhatRuns(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "plugin")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	mine := registry.Plugin{Name: "mine", Command: []string{link, BuiltinArgument, "one"}, SHA256: sumText(t, self)}
	p, err := startChanged(t, mine, link, "#!/bin/sh\necho the wrong program\n")
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile("/proc/" + p.child.ID() + "/cmdline")
	if want := strings.Join(mine.Command, "\x00") + "\x00"; err != nil || string(words) != want {
		t.Errorf("the plugin's arguments are %q, want %q (%v)", words, want, err)
	}
}

// A script's interpreter opens the script by its path, after the check. If the script changed in between, the start
// fails.
func TestAChangedScriptIsRefused(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := "exec " + self + " " + BuiltinArgument + " one\n"
	script := filepath.Join(t.TempDir(), "plugin.sh")
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"a script": {[]string{script}, "does not have the sha256"},
		"a script of an interpreter": {[]string{"/bin/sh", "-e", script},
			script + " was changed while the plugin started"},
	} {
		t.Run(name, func(t *testing.T) {
			replaceFile(t, script, "#!/bin/sh\n"+text)
			mine := registry.Plugin{Name: "mine", Command: c.command, SHA256: sumText(t, c.command[0])}
			l := launcher(t)
			if _, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: mine}); err != nil {
				t.Fatal(err)
			}
			p, err := startChanged(t, mine, script, "#!/bin/sh\n# another one\n"+text)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("a script that changed gave %v, want %q on one line", err, c.want)
			}
			awaitExit(t, p)
		})
	}
}
