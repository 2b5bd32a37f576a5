package view

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/study/model"
)

// A document that grows step by step equals a document made at the end. The Maker reads nothing twice.
func TestMaker(t *testing.T) {
	dir := unpacked(t)
	folders, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(dir, "runs", "again", "4")
	away := filepath.Join(t.TempDir(), "late")
	if err := os.Rename(late, away); err != nil {
		t.Fatal(err)
	}
	m := NewMaker(new(model.Loader), dir, fixed)
	before, err := m.Document(&Live{Left: 1, Running: &Running{Name: "\x1b[2J", Rate: math.NaN()}})
	if err != nil {
		t.Fatal(err)
	}
	if last := before.Cells[len(before.Cells)-1]; last.Waiting != 1 || last.State != Partial || len(before.Runs) != 64 {
		t.Errorf("%d runs, of the last cell %d are waiting, %s", len(before.Runs), last.Waiting, last.State)
	}
	if r := before.Live.Running; r.Name != "␛[2J" || r.Rate != 0 {
		t.Errorf("%+v", r)
	}
	want := documentOf(t, whole(t, dir, away, late))
	for _, f := range folders {
		if filepath.Dir(f) == filepath.Dir(late) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(f, "samples", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files { // in place, so the folder itself looks unchanged
			if err := os.Truncate(file, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	after, err := m.Document(nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, after); d != "" {
		t.Errorf("-made at once +grown:\n%s", d)
	}
}

// whole moves the absent run back into the sweep and returns the sweep's folder.
func whole(t *testing.T, dir, away, late string) string {
	t.Helper()
	if err := os.Rename(away, late); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Before a run has ended, its page has no cells.
func TestMakerOfARunThatGoesOn(t *testing.T) {
	dir := t.TempDir()
	for _, mark := range []string{"", "running\n"} {
		t.Run(mark, func(t *testing.T) {
			if mark != "" {
				if err := os.WriteFile(filepath.Join(dir, "incomplete"), []byte(mark), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := NewMaker(new(model.Loader), dir, fixed).Document(&Live{Left: 1})
			if err != nil || len(d.Cells) != 0 || d.Baseline != -1 || d.Live == nil {
				t.Errorf("%q: %v, %+v", mark, err, d)
			}
		})
	}
	if d, err := NewMaker(new(model.Loader), recordedDLRM, fixed).Document(nil); err != nil || len(d.Runs) != 1 {
		t.Errorf("%v, %+v", err, d)
	}
}
