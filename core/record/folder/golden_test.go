package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
)

// psbench must always read results of every older version. These files were written by older versions and are never
// rewritten. schema2.json.gz and schema3 are from the same run.
const (
	golden1 = "../result/testdata/schema1.json.gz"
	golden2 = "testdata/schema2.json.gz"
	golden3 = "testdata/schema3"
	// computed was written by a later version, which also stores the data for throughput and evaluation.
	computed = "testdata/schema3computed"
)

func TestEveryVersionIsRead(t *testing.T) {
	for path, want := range map[string]int{golden1: 4400, golden2: 228, golden3: 228, computed: 234} {
		t.Run(path, func(t *testing.T) {
			r, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, s := range r.Series {
				count += s.Len()
			}
			if count != want || !r.Complete || r.Schema != result.Schema || len(r.Losses) != 2 {
				t.Errorf("%s: %d measurements, want %d", path, count, want)
			}
		})
	}
}

// Values that are recomputed from the columns equal the values that the run computed.
func TestGoldenIsComputedAgain(t *testing.T) {
	said, err := Head(computed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(computed)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Works) != 4 || len(r.Found) != 2 || len(r.Scores) == 0 {
		t.Errorf("%d, %d and %d rows were recorded", len(r.Works), len(r.Found), len(r.Scores))
	}
	for _, d := range []string{
		cmp.Diff(said.Throughput, r.Throughput), cmp.Diff(said.StartMS, r.StartMS),
		cmp.Diff(said.Evaluation, r.Evaluation),
		cmp.Diff(said.Noise, r.Noise), cmp.Diff(said.Checks, r.Checks),
	} {
		t.Run(d, func(t *testing.T) {
			if d != "" {
				t.Error(d)
			}
		})
	}
}

// The file and the folder of the same run contain the same result.
func TestFileAndFolderAgree(t *testing.T) {
	file, err := Read(golden2)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := Read(golden3)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(file, folder, same); d != "" {
		t.Errorf("file and folder (-file +folder):\n%s", d)
	}
	again, err := Read(written(t, folder))
	if d := cmp.Diff(folder, again, same); d != "" || err != nil {
		t.Errorf("%v, written again:\n%s", err, d)
	}
	for _, name := range []string{"series.start_ns.npy", "losses.loss.npy"} {
		t.Run(name, func(t *testing.T) { // written without changes
			old, err := os.ReadFile(filepath.Join(golden3, "samples", name))
			if err != nil {
				t.Fatal(err)
			}
			now, err := os.ReadFile(filepath.Join(written(t, folder), "samples", name))
			if err != nil || string(old) != string(now) {
				t.Errorf("%s is written otherwise: %v", name, err)
			}
		})
	}
}
