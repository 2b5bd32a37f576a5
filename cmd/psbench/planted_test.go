//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// The sweeps in testdata/planted have known, planted effects. All of them can be run; docs/statistics.md describes
// the drift. Crashes do not depend on the machine, so this test runs the sweep with planted crashes.
func TestPlantedSweeps(t *testing.T) {
	registry := foreignPlugin(t, "planted")
	specs, err := filepath.Glob("testdata/planted/*.json")
	if err != nil || len(specs) != 7 {
		t.Fatal(specs, err)
	}
	for _, spec := range specs {
		if filepath.Base(spec) == "registry.json" {
			continue
		}
		t.Run(filepath.Base(spec), func(t *testing.T) {
			if status, stdout, stderr := psbenchMain(t, "sweep", spec, "--registry", registry,
				"--dry-run"); status != 0 {
				t.Fatalf("status %d\n%s\n%s", status, stdout, stderr)
			}
		})
	}
	t.Run("crashes", func(t *testing.T) {
		if testing.Short() {
			t.Skip("twelve runs")
		}
		status, stdout, stderr := psbenchMain(t, "sweep", "testdata/planted/crash.json", "--registry", registry,
			"--repeats", "4", "--set", "hook.sleep=1", "--out", t.TempDir(), "--quiet")
		if status != 1 || !strings.Contains(stderr, "3 of the 12 runs of the sweep") {
			t.Errorf("status %d\n%s", status, stderr)
		}
		for _, want := range []string{
			"failed      3 runs: trainer0.hook (process ",
			"its last words: planted: process ",
			"proven      only planted=baseline can win, with ",
			"excluded    planted=fast, crashes is excluded: 3 of 4 of its runs failed, more than 10.0 %\n",
		} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is missing in\n%s", want, stdout)
			}
		}
	})
}
