//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/scaffold"
)

// What `psbench plugin new` writes is tested, built and measured, untouched, by the commands that
// its page has. The user has no more than Go's module cache.
func TestProjectsOfPlugins(t *testing.T) {
	for _, kind := range scaffold.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			name := "my_" + kind.Name
			dir := filepath.Join(t.TempDir(), "project")
			if status, _, stderr := psbenchMain(t, "plugin", "new", kind.Name, name, "--dir", dir, "--psbench", root(t)); status != 0 {
				t.Fatal(stderr)
			}
			test, build, run := tryWords(kind, name, 0), tryWords(kind, name, 1), tryWords(kind, name, 2)
			goIn(t, dir, append([]string{"test", "-vet=all", "-ldflags=-s -w"}, test[2:]...)...)
			goIn(t, dir, append([]string{"build", "-ldflags=-s -w"}, build[2:]...)...)
			flags := append(run[1:], "--iterations", "3", "--warmup", "1") // as many as show that it trains
			switch kind.Name {
			case "model", "table-server": // which models of other sizes than psbench's default have
			default:
				flags = append(flags, "--set", "model.dense_layers_count=2")
			}
			for i, flag := range flags {
				if flag == "registry.json" {
					flags[i] = filepath.Join(dir, flag)
				}
			}
			status, stdout, stderr := psbenchMain(t, flags...)
			if status != 0 || !strings.Contains(stdout, "\nloss ") {
				t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
			}
		})
	}
}

// tryWords are those of a command that the page of a project has.
func tryWords(kind scaffold.Kind, name string, command int) []string {
	return strings.Fields(scaffold.Project{Kind: kind, Name: name}.Try()[command])
}
