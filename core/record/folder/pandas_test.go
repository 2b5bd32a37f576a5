package folder

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/documented"
	"github.com/psbench/psbench/sdk"
)

// docs/examples/run_folder.py reads a run folder correctly. The sum of each column and the median of each series are
// right.
func TestDocumentedFolder(t *testing.T) {
	r := example()
	for i := range int64(4) {
		r.SeriesOf(0, "backward_metric", "backward").Add(sdk.Measurement{Key: sdk.Key{A: i}, StartNS: 100,
			DurationNS: 1000 * (4 - i)})
	}
	stdout, stderr := documented.Pandas(t, "../../../docs/examples/run_folder.py",
		`print(*measurements[["key_a", "key_b", "start_ns", "duration_ns"]].sum(), file=sys.stderr)`, written(t, r))
	want :=
		"type,name,0,1\nbackward_metric,backward,0.002000,\nforward_metric,forward_pass,1099511.627777,1099511.627777\n"
	if d := cmp.Diff(want, stdout); d != "" {
		t.Error(d)
	}
	sums := fmt.Sprintln(2*3+6, -2*3, 2*(15000-21)+400, 6*(int64(1)<<40)+6+10000)
	if d := cmp.Diff(sums, stderr); d != "" {
		t.Error(d)
	}
}

// millions returns a folder with five million measurements, as from a half-hour pass on eight trainers.
func millions(b *testing.B) (dir string, r *result.Result) {
	b.Helper()
	r = example()
	r.Series = nil
	for metric := range 5 {
		s := r.SeriesOf(metric%2, "m", fmt.Sprint(metric))
		for i := range int64(1_000_000) {
			s.Add(sdk.Measurement{Key: sdk.Key{A: i / 1000, B: i % 1000}, StartNS: 400_000 * i,
				DurationNS: 300_000 + i%7919})
		}
	}
	dir = filepath.Join(b.TempDir(), "run")
	f, err := Create(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := f.Write(r); err != nil {
		b.Fatal(err)
	}
	return dir, r
}

// This benchmark measures how fast numpy reads all four columns of five million measurements.
func BenchmarkNumpyReads(b *testing.B) {
	python := documented.Python("numpy")
	if python == "" {
		b.Skip("numpy is not installed")
	}
	dir, _ := millions(b)
	const program = `
import sys, time
import numpy as np
begin = time.perf_counter()
columns = [np.load(f"{sys.argv[1]}/samples/series.{c}.npy") for c in ("key_a", "key_b", "start_ns", "duration_ns")]
print(time.perf_counter() - begin, len(columns[3]))`
	total := 0.0
	for range b.N {
		out, err := exec.Command(python, "-c", program, dir).Output()
		var seconds float64
		var count int
		if _, serr := fmt.Sscan(string(out), &seconds, &count); err != nil || serr != nil || count != 5_000_000 {
			b.Fatal(err, serr, count)
		}
		total += seconds
	}
	b.ReportMetric(total/float64(b.N), "s/load")
}

func BenchmarkRead(b *testing.B) {
	dir, _ := millions(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	_, r := millions(b)
	parent, n := b.TempDir(), 0
	b.ReportAllocs()
	for b.Loop() {
		dir := filepath.Join(parent, fmt.Sprint(n))
		n++
		f, err := Create(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Write(r); err != nil {
			b.Fatal(err)
		}
		_ = os.RemoveAll(dir)
	}
}
