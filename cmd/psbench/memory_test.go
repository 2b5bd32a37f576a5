//go:build !race

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
)

// No tensor is copied between a trainer and its separate parts. All processes work on a bucket of 40 MiB, but the
// private memory of each process is far smaller than the bucket.
func TestNoProcessGrowsByABucket(t *testing.T) {
	const common = "--data dense --set data.features=2048 --batch-size 4 --warmup none --iterations 3 "
	t.Run("Go", func(t *testing.T) {
		requireNoBucket(t, 10, common+"--isolate all --model mlp --set model.sizes=[2048,5120]")
	})
	t.Run("Python", func(t *testing.T) {
		python, err := findPython()
		if err != nil {
			t.Skip(err)
		}
		script, err := filepath.Abs("testdata/memory/parts.py")
		if err != nil {
			t.Fatal(err)
		}
		part := map[string]any{"python": map[string]any{"plugin": "parts"}}
		text, err := json.Marshal(map[string]any{
			"plugins":      map[string]any{"parts": map[string]any{"command": []string{python, script}}},
			"ddp_hook_map": part, "server_map": part, "model_map": part,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("OPENBLAS_NUM_THREADS", "1") // each thread has buffers
		requireNoBucket(t, 9, common+"--model python --ddp-hook python --server python --registry "+inFile(t, text))
	})
}

// requireNoBucket runs psbench and requires that each process has less private memory than the bucket.
func requireNoBucket(t *testing.T, processes int, flags string) {
	const bucketMiB, most = 40, 36 // Python itself needs 25 MiB
	watch := &memoryWatch{Progress: run.Silent, ownKiB: map[string]int{}}
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{Progress: watch})
	if err != nil {
		t.Fatal(err)
	}
	if mib := 4 * res.Buckets[len(res.Buckets)-1].Elements >> 20; mib < bucketMiB {
		t.Fatalf("the bucket has %d MiB", mib)
	}
	for _, p := range res.Processes {
		own, seen := watch.ownKiB[strconv.Itoa(p.PID)]
		t.Logf("%s has %d MiB of its own", p.Name, own>>10)
		if !seen || own>>10 > most {
			t.Errorf("%s has %d MiB of its own (seen: %v), where a bucket has %d", p.Name, own>>10, seen, bucketMiB)
		}
	}
	if len(res.Processes) != processes {
		t.Errorf("there are %d processes", len(res.Processes))
	}
}

// memoryWatch records the private memory of each process at the end of the measured pass.
type memoryWatch struct {
	run.Progress
	ownKiB map[string]int // by process ID
}

func (w *memoryWatch) Phase(name string) {
	if name != "collection" {
		return
	}
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range files {
		text, _ := os.ReadFile(file) // empty if the process has ended
		for line := range strings.Lines(string(text)) {
			var kib int
			if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kib); n == 1 {
				w.ownKiB[filepath.Base(filepath.Dir(file))] = kib
			}
		}
	}
}
