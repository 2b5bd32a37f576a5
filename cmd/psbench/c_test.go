//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A hook in C, written from docs/protocol.md alone, works like psbench's own: it averages dense and sparse buckets.
// The hook can also clip. The source stays short, because the page cites it as the effort for other languages.
func TestHookInC(t *testing.T) {
	const source = "testdata/c/clip.c"
	lines := strings.Split(strings.TrimSuffix(readPage(t, filepath.Join("cmd/psbench", source)), "\n"), "\n")
	if len(lines) > 200 {
		t.Errorf("%s has %d lines: more than 200", source, len(lines))
	}
	for i, line := range lines {
		if len(line) > 110 {
			t.Errorf("%s: line %d has %d columns: more than 110", source, i+1, len(line))
		}
	}
	registry := "--registry " + pluginInC(t, source)
	tiny := "--epochs 2 --nserver 0 --set model.num_embeddings=8 --set model.embedding_dim=4" +
		" --set model.dense_input_size=4 --set model.dense_output_size=4 --set model.dense_layers_count=1" +
		" --set data.max_val=4 --set data.sample_count=40 --set model.sparse="
	for _, c := range []struct {
		flags string
		limit float64
		alike bool
	}{
		{"false --transport shm", 1e9, true},
		{"true --transport tcp", 1e9, true},
		{"true --transport shm", 1e-3, false},
	} {
		t.Run(c.flags, func(t *testing.T) {
			flags := tiny + c.flags
			want := runs(t, strings.Fields(flags+" --ddp-hook allreduce")...)
			got := runs(t,
				strings.Fields(fmt.Sprintf("%s --ddp-hook clip --set hook.limit=%g %s", flags, c.limit, registry))...)
			d := cmp.Diff(want.Losses, got.Losses)
			if (d == "") != c.alike || len(want.Losses) != 2 || len(want.Losses[0]) == 0 {
				t.Errorf("%s: a limit of %g changes the losses: %s", c.flags, c.limit, d)
			}
			requireFact(t, got, "trainer1.hook", "language", "C")
		})
	}
}

// pluginInC compiles a plugin and returns the path of a registry file with its hook.
func pluginInC(t *testing.T, source string) (registry string) {
	t.Helper()
	if out, err := exec.Command("gcc", "-E", "-include", "grpc/grpc.h", "-x", "c",
		"/dev/null").CombinedOutput(); err != nil {
		t.Skipf("gcc with grpc/grpc.h, as of Debian's libgrpc-dev, is missing: %v\n%s", err, out)
	}
	dir := t.TempDir()
	name := strings.TrimSuffix(filepath.Base(source), ".c")
	build := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", filepath.Join(dir, name), source, "-lgrpc", "-lgpr") // #nosec G204
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entry, err := json.Marshal(map[string]any{
		"plugins":      map[string]any{name: map[string]any{"command": []string{"./" + name}}},
		"ddp_hook_map": map[string]any{name: map[string]any{"plugin": name}},
	})
	if err != nil {
		t.Fatal(err)
	}
	registry = filepath.Join(dir, "registry.json")
	write(t, registry, string(entry))
	return registry
}
