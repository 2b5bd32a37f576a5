//go:build !race

package conduct

// Killed processes cannot show a race, so race builds skip these tests.

import (
	"path/filepath"
	"testing"
	"testing/quick"
)

// After psbench is killed at any point, the same command runs the remaining runs. Finished runs stay unchanged, no
// result is lost, and the sweep ends like an undisturbed sweep.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	p := planOf(t, 2, "work", "work")
	if testing.Short() {
		p.Repeats = 1
	}
	undisturbed := filepath.Join(t.TempDir(), "sweep")
	if out, err := conductor(t, undisturbed, p, 0).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := states(t, undisturbed)
	points := 0
	for point := 1; ; point++ {
		dir := filepath.Join(t.TempDir(), "sweep")
		out, err := conductor(t, dir, p, point).CombinedOutput()
		if !killed(t, out, err) {
			break
		}
		points++
		until(t, "its run is gone", func() bool { return len(processesOf(t, dir)) == 0 })
		before := written(t, dir)
		if out, err := conductor(t, dir, p, 0).CombinedOutput(); err != nil {
			t.Fatalf("killed at point %d it does not go on: %v: %s", point, err, out)
		}
		after := written(t, dir)
		for run, when := range before {
			if after[run] != when {
				t.Errorf("killed at point %d, %s ran again", point, run)
			}
		}
		if got := states(t, dir); got != want || len(after) != p.Runs() {
			t.Errorf("killed at point %d the runs are\n%swant\n%s", point, got, want)
		}
	}
	// Each run has six points in its journal and two at its process. Some further points come before the first run.
	if least := 8*p.Runs() + 4; points < least {
		t.Errorf("it was killed at %d points only, want %d", points, least)
	}
}

// psbench also continues correctly if it is killed repeatedly.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	sweeps := 3
	if testing.Short() {
		sweeps = 1
	}
	p := planOf(t, 2, "work", "work")
	survives := func(points []uint8) bool {
		dir := filepath.Join(t.TempDir(), "sweep")
		before := map[string]string{}
		for _, point := range append(points, 0) {
			out, err := conductor(t, dir, p, int(point)%40).CombinedOutput()
			killed(t, out, err)
			until(t, "its run is gone", func() bool { return len(processesOf(t, dir)) == 0 })
			after := written(t, dir)
			for run, when := range before {
				if after[run] != when {
					t.Logf("%s ran again", run)
					return false
				}
			}
			before = after
		}
		return len(before) == p.Runs()
	}
	if err := quick.Check(survives, &quick.Config{MaxCount: sweeps}); err != nil {
		t.Error(err)
	}
}
