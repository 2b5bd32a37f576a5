//go:build !race

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/run"
)

// No tensor is copied between a trainer and the parts beside it: with a bucket of 40 MiB none of the
// processes has nearly as much memory of its own, while all of them work in that bucket.
func TestNoProcessGrowsByABucket(t *testing.T) {
	const bucketMiB, most = 40, 20
	watch := &memoryWatch{Progress: run.Silent, ownKiB: map[string]int{}}
	flags := "--isolate all --model mlp --set model.sizes=[2048,5120] --data dense --set data.features=2048 --batch-size 4 --warmup none --iterations 3"
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{Progress: watch})
	if err != nil {
		t.Fatal(err)
	}
	if mib := 4 * res.Buckets[len(res.Buckets)-1].Elements >> 20; mib < bucketMiB {
		t.Fatalf("the bucket has %d MiB", mib)
	}
	for _, p := range res.Processes {
		own, seen := watch.ownKiB[strconv.Itoa(p.PID)]
		if !seen || own>>10 > most {
			t.Errorf("%s has %d MiB of its own (seen: %v), where a bucket has %d", p.Name, own>>10, seen, bucketMiB)
		}
	}
	if len(res.Processes) != 10 {
		t.Errorf("there are %d processes", len(res.Processes))
	}
}

// memoryWatch notes what memory of its own each process has at the end of the measured pass.
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
		text, _ := os.ReadFile(file) // of one that has ended there is none
		for line := range strings.Lines(string(text)) {
			var kib int
			if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kib); n == 1 {
				w.ownKiB[filepath.Base(filepath.Dir(file))] = kib
			}
		}
	}
}
