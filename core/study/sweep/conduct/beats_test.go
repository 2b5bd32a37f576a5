package conduct

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// A run reports its progress if Heartbeat is set. An older psbench that cannot report progress runs all the same.
func TestHeartbeats(t *testing.T) {
	o := options()
	running, heard := "", map[string]int64{}
	o.Tell = func(n News) {
		running = n.Cell.Name
		if n.State != journal.Running {
			running = ""
		}
		if left := n.Total - n.Counts[journal.Done] - n.Counts[journal.Failed]; n.State == journal.Running &&
			left != n.Total-n.Number+1 {
			t.Errorf("of run %d of %d %d are left: %v", n.Number, n.Total, left, n.Counts)
		}
	}
	o.Heartbeat = func(b monitor.Beat) {
		if b.Phase != "measured pass" || b.Iterations != heard[running]+1 {
			t.Errorf("%q tells %+v", running, b)
		}
		heard[running]++
	}
	if err := Run(t.Context(), filepath.Join(t.TempDir(), "sweep"), planOf(t, 1, "beat", "work"), o); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 1 || heard["cell=0 beat"] < 3 {
		t.Errorf("it heard %v", heard)
	}
	o.Heartbeat = nil
	dir := filepath.Join(t.TempDir(), "sweep")
	if err := Run(t.Context(), dir, planOf(t, 1, "beat"), o); err == nil ||
		!strings.Contains(states(t, dir), "failed nobody listens") {
		t.Errorf("without a listener it said %v", err)
	}
}
