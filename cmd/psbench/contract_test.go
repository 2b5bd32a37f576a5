//go:build !race

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host"
)

// This test checks the contract's promise. A plugin built with the sdk of the major version's beginning still runs
// beside psbench's current parts and computes the same results. The test runs the plugin over shared memory and over
// a network, in a separate process and beside a current part. The source of the plugin must also build with the
// current sdk.
func TestContractIsKept(t *testing.T) {
	today := foreignPlugin(t, "contract")
	kept := keptPlugin(t)
	for _, transport := range []string{"tcp", "shm"} {
		t.Run(transport, func(t *testing.T) {
			over := []string{"--transport", transport, "--epochs", "2"}
			small := append(over, "--set", "model.dense_layers_count=2", "--set", "trainer.lr=16")
			own := append(over, "--model", "kept", "--data", "kept", "--create-criterion", "kept", "--set",
				"trainer.lr=0.1")
			for _, c := range []struct{ like, kept []string }{
				{small, []string{"--server", "kept", "--ddp-hook", "kept_push"}},
				{small, []string{"--trainer", "kept"}},
				{append(small, "--nserver", "0"), []string{"--ddp-hook", "kept"}},
				{append(own, "--nserver", "0"), []string{"--trainer", "kept", "--ddp-hook", "kept"}},
				{append(own, "--ntrainer", "1"), []string{"--trainer", "kept", "--server", "kept_eager"}},
			} {
				want := runs(t, append(c.like, "--registry", today)...)
				got := runs(t, slices.Concat(c.like, c.kept, []string{"--registry", kept, "--check"})...)
				if d := cmp.Diff(want.Losses, got.Losses); d != "" || len(want.Losses) == 0 {
					t.Errorf("%v: other losses than without %v: %s", c.like, c.kept, d)
				}
				if got.Checks == nil || len(got.Checks.Unchecked) == 0 {
					t.Errorf("%v: checked %+v, though parts of the plugin know nothing of checks", c.kept, got.Checks)
				}
				for _, p := range got.Plugins {
					if began := (host.Version{Major: host.Contract.Major}).String(); p.Name == "contract" &&
						p.Contract != began {
						t.Errorf("%v: the plugin speaks version %s and not %s", c.kept, p.Contract, began)
					}
				}
			}
			tables := append(over, "--trainer", "hybrid", "--server", "kept_table", "--ntrainer", "2", "--nserver", "2")
			if got := runs(t, append(tables, "--registry", kept)...); len(got.Losses) == 0 {
				t.Errorf("%v: no losses", tables)
			}
		})
	}
}

// keptPlugin builds the kept plugin with the kept sdk, and returns the path of its registry file.
func keptPlugin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	unpack(t, fmt.Sprintf("testdata/contract/sdk-%d.0.tar.gz", host.Contract.Major), dir)
	for _, name := range []string{"go.mod", "go.sum"} {
		write(t, filepath.Join(dir, name), readPage(t, name))
	}
	sources, err := filepath.Glob("testdata/contract/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		write(t, filepath.Join(dir, "plugin", filepath.Base(source)), readPage(t, "cmd/psbench/"+source))
	}
	goIn(t, dir, "build", "-mod=mod", "-ldflags=-s -w", "-o", "contract", "./plugin")
	write(t, filepath.Join(dir, "registry.json"), readPage(t, "cmd/psbench/testdata/contract/registry.json"))
	return filepath.Join(dir, "registry.json")
}

// unpack writes the files of an archive into a folder.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatalf("%v: `make contract` keeps the sdk of a new major version", err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		var content strings.Builder
		if err == nil {
			_, err = io.Copy(&content, reader) // #nosec G110 -- an archive of this repository
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name)) // #nosec G305 -- likewise
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, content.String())
	}
}
