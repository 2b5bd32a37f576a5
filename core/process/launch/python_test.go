package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/registry"
)

// A plugin finds the package psbench before the folders of the user's PYTHONPATH. The package is in the cache, or in
// the run's folder if there is no cache. psbench's own processes do not get the variable.
func TestPythonPath(t *testing.T) {
	cache := t.TempDir()
	for name, c := range map[string]struct{ cache, own, begins, ends string }{
		"cache":        {cache, "", filepath.Join(cache, "psbench", "python-"), ""},
		"and the user": {cache, "/mine:/yours", filepath.Join(cache, "psbench", "python-"), ":/mine:/yours"},
		"no cache":     {"", "/mine", "RUN/python", ":/mine"},
		"not writable": {"/proc", "", "RUN/python", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "")
			t.Setenv("XDG_CACHE_HOME", c.cache)
			t.Setenv(pythonVariable, c.own)
			l := launcher(t)
			cmd, err := l.command(Spec{Name: "trainer0",
				Plugin: registry.Plugin{Name: "mine", Command: []string{"true"}}})
			if err != nil {
				t.Fatal(err)
			}
			// If the environment had two entries for a variable, Python would use the first.
			set := slices.DeleteFunc(cmd.Env,
				func(variable string) bool { return !strings.HasPrefix(variable, pythonVariable+"=") })
			if len(set) != 1 {
				t.Fatalf("the variable is set %d times: %q", len(set), set)
			}
			last := strings.TrimPrefix(set[0], pythonVariable+"=")
			if begins := strings.Replace(c.begins, "RUN", l.Directory(), 1); !strings.HasPrefix(last, begins) ||
				!strings.HasSuffix(last, c.ends) {
				t.Errorf("the path is %s, want %s...%s", last, begins, c.ends)
			}
			first, _, _ := strings.Cut(last, ":")
			if _, err := os.Stat(filepath.Join(first, "psbench")); err != nil {
				t.Error(err)
			}
		})
	}
	if cmd, err := launcher(t).command(Spec{Name: "trainer0"}); err != nil ||
		strings.HasPrefix(cmd.Env[len(cmd.Env)-1], pythonVariable) {
		t.Errorf("psbench's own processes have %v", err)
	}
}
