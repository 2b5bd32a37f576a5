package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Plugin output is shown with the plugin's name, unless the user hides it, and kept in a log.
func TestPluginOutput(t *testing.T) {
	small := []string{"--epochs", "1", "--batch-size", "1", "--quiet", "--set", "model.dense_layers_count=2"}
	logs := t.TempDir()
	args := append(withActor(t, script{Say: "loading", Times: 2}), small...)
	for i, c := range []struct {
		args []string
		want string
	}{
		{nil, "data: loading 0\ndata: loading 1\n"},
		{[]string{"--plugin-output", "quiet", "--log-dir", logs}, ""},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if status, _, stderr := psbenchMain(t, append(c.args, args...)...); status != 0 || stderr != c.want {
				t.Errorf("psbench %v ends with %d and prints %q, want %q", c.args, status, stderr, c.want)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(logs, "data.log")); err != nil ||
		string(text) != "loading 0\nloading 1\n" {
		t.Errorf("the log has %q (%v)", text, err)
	}
	for _, name := range []string{"trainer0.log", "server2.log"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(logs, name)); err != nil {
				t.Error(err)
			}
		})
	}
	args = append(withActor(t, script{Say: "loading", Times: 1, Panic: "no more"}), small...)
	status, _, stderr := psbenchMain(t, args...)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if status == 0 || len(lines) != 2 || lines[0] != "data: loading 0" ||
		!strings.Contains(lines[1], "panic: no more, in psbench.actor.Load (testplugin_test.go:") {
		t.Errorf("a panic ends psbench with %d and\n%s", status, stderr)
	}
}

// If nobody reads the shown output, neither the plugin nor the run blocks.
func TestNobodyReadsPluginOutput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Stderr: w,
		Args: append([]string{"psbench", "--epochs", "1", "--batch-size", "1", "--set", "model.dense_layers_count=2"},
			withActor(t, script{Say: strings.Repeat("x", 100), Times: 20_000})...),
	}
	err = cmd.Run()
	_ = w.Close()
	if err != nil {
		t.Error(err)
	}
}
