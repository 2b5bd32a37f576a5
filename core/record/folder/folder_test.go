package folder

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/sdk"
)

// example returns a run of two trainers.
func example() *result.Result {
	r := &result.Result{
		Schema: result.Schema, Complete: true, StartedNS: 1000, Command: []string{"psbench"},
		Connected: [][]int{{0, 1}}, Losses: [][]float64{{1, 0.5}, {math.NaN(), math.Inf(1), 0.25}},
		Processes: []result.Process{{Name: "trainer0", Kind: "trainer"}, {Name: "trainer1", Rank: 1, Kind: "trainer"}},
	}
	for rank := range 2 {
		s := r.SeriesOf(rank, "forward_metric", "forward_pass")
		for i := range int64(3) {
			s.Add(sdk.Measurement{Key: sdk.Key{A: i, B: -i}, StartNS: 5000 - 7*i, DurationNS: 1<<40 + i})
		}
	}
	g := r.GaugeOf(1, metric.Head{Type: "push_metric", Name: "staleness", Unit: "steps"})
	g.Add(sdk.Key{A: 4, B: 2}, 2.5)
	g.Add(sdk.Key{A: 5, B: 2}, math.NaN())
	return r
}

// written returns a run folder that contains r.
func written(t *testing.T, r *result.Result) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "of", "run")
	f, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(r); err != nil {
		t.Fatal(err)
	}
	return dir
}

var same = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
	cmp.Comparer(func(a, b *result.Gauge) bool { // the method Equal does not support NaN
		type row struct {
			Key   sdk.Key
			Value uint64
		}
		rows := func(g *result.Gauge) (all []row) {
			for k, v := range g.All() {
				all = append(all, row{k, math.Float64bits(v)})
			}
			return all
		}
		return a.Rank == b.Rank && a.Head == b.Head && cmp.Equal(rows(a), rows(b))
	}),
}

func TestWriteAndRead(t *testing.T) {
	for name, change := range map[string]func(*result.Result){
		"a run":      func(*result.Result) {},
		"no gauges":  func(r *result.Result) { r.Gauges = nil },
		"no samples": func(r *result.Result) { r.Gauges, r.Series, r.Losses = nil, nil, nil },
		"incomplete": func(r *result.Result) { r.Complete, r.Error = false, "trainer1 died" },
	} {
		t.Run(name, func(t *testing.T) {
			want := example()
			change(want)
			dir := written(t, want)
			got, err := Read(dir)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d := cmp.Diff(want, got, same); d != "" {
				t.Errorf("%s: written and read (-want +got):\n%s", name, d)
			}
			status, err := StatusOf(dir)
			if d := cmp.Diff(Status{want.Complete, want.Error}, status); d != "" || err != nil {
				t.Errorf("%s: %v %s", name, err, d)
			}
			head, err := Head(dir)
			if err != nil || len(head.Series) != len(want.Series) || head.Losses != nil || !IsRun(dir) {
				t.Errorf("%s: %v", name, err)
			}
			for _, s := range head.Series {
				if s.Len() != 0 {
					t.Errorf("%s: the head has %d measurements", name, s.Len())
				}
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":   "its path is empty: name a folder",
		dir:  "it has file in it: name a folder that is empty or does not exist",
		file: "not a directory",
	} {
		t.Run(path, func(t *testing.T) {
			if _, err := Create(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", path, err, want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, markName)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that was refused has a mark")
	}
}

// At any moment, the folder of an unfinished run says that the run is not complete. The folder also gives the reason,
// if known.
func TestIncomplete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(reason string) {
		t.Helper()
		status, err := StatusOf(dir)
		if err != nil || status.Complete || status.Reason != reason || !IsRun(dir) {
			t.Errorf("%+v, %v", status, err)
		}
		if _, err := Read(dir); err == nil ||
			!strings.HasSuffix(err.Error(), "has no result: its run is incomplete: "+reason) {
			t.Error(err)
		}
	}
	check(result.Running)
	if err := f.Fail("the disk\nis full"); err != nil {
		t.Fatal(err)
	}
	check("the disk is full")

	// This is the folder of a psbench that was killed before it removed the mark.
	dir = written(t, example())
	if err := os.WriteFile(filepath.Join(dir, markName), []byte("running\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir)
	if err != nil || r.Complete || r.Error != result.Running {
		t.Error(err)
	}
}
