package result

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withNvidiaSmi sets PATH to a folder that contains only a script named nvidia-smi. If script is empty, the folder is
// empty.
func withNvidiaSmi(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestCaptureGPUs(t *testing.T) {
	const list = `case "$1" in --query-gpu*) echo "NVIDIA A, 550.54.15, 81559 MiB"; echo "NVIDIA B, 550.54.15, 24564 MiB";; `
	both := []GPU{{"NVIDIA A", "550.54.15", 81559}, {"NVIDIA B", "550.54.15", 24564}}
	for name, c := range map[string]struct {
		script   string
		gpus     []GPU
		topology string
	}{
		"missing":   {"", []GPU{}, ""},
		"failing":   {"echo no driver; exit 9", []GPU{}, ""},
		"no device": {"echo 'No devices were found'", []GPU{}, ""},
		"hanging":   {"while :; do :; done", []GPU{}, ""},
		"two": {list + `topo) printf '\t\033[4mGPU0\tGPU1\033[0m\nGPU0\t X \tNV18\n\n';; esac`, both,
			"\tGPU0\tGPU1\nGPU0\t X \tNV18"},
		"no topology": {list + "*) exit 1;; esac", both, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withNvidiaSmi(t, c.script)
			timeout := time.Minute
			if name == "hanging" {
				timeout = 100 * time.Millisecond
			}
			gpus, topology := captureGPUs(timeout)
			if diff := cmp.Diff(c.gpus, gpus); diff != "" {
				t.Error(diff)
			}
			if topology != c.topology {
				t.Errorf("the topology is %q, want %q", topology, c.topology)
			}
		})
	}
}

func FuzzParseGPUs(f *testing.F) {
	f.Add("NVIDIA H100 80GB HBM3, 550.54.15, 81559 MiB\n")
	f.Add("a, b, [N/A]\r\n, , ")
	f.Fuzz(func(t *testing.T, list string) {
		for _, g := range parseGPUs(list) {
			if g.MemoryMiB < 0 {
				t.Errorf("%q gives %+v", list, g)
			}
		}
	})
}

// Processes with the same BLAS library share one entry. Processes without BLAS have no entry.
func TestNoteBLAS(t *testing.T) {
	var e Environment
	for _, facts := range []map[string]string{
		{"blas": "openblas", "blas_core": "Zen", "blas_threads": "1"}, nil, {"vectors": "avx2"},
		{"blas": "openblas", "blas_core": "Zen", "blas_threads": "1", "engine": "x"},
		{"blas": "gonum", "blas_core": "go", "blas_threads": "2"},
	} {
		e.NoteBLAS(facts)
	}
	want := []BLAS{{"openblas", "", "Zen", "1"}, {"gonum", "", "go", "2"}}
	if diff := cmp.Diff(want, e.BLAS); diff != "" {
		t.Error(diff)
	}
}
