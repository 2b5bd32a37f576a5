package conduct

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

func TestBudgets(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 5, "fail")
	p.Budget.Failures = 2
	err := Run(t.Context(), dir, p, options())
	if want := "has ended early: 2 runs failed, which is its budget; of its 5 runs 0 are done and 2 failed,"; err ==
		nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("it said %v", err)
	}
	p = planOf(t, 1, "wait")
	p.Budget.Time = time.Second / 2
	if err := Run(t.Context(), t.TempDir(), p, options()); err == nil ||
		!strings.Contains(err.Error(), "has ended early: its budget of 500ms is used up; of its 1 run 0 are done") {
		t.Errorf("it said %v", err)
	}
	p = planOf(t, 1, "work")
	p.Budget.Time, p.Cells[0].Expected = time.Hour, 2*time.Hour
	if err := Run(t.Context(), t.TempDir(), p, options()); err == nil ||
		!strings.Contains(err.Error(), "its budget of 1h0m0s has less time left than the 2h0m0s that the next run takes") {
		t.Errorf("it said %v", err)
	}
}

// One budget limits the whole sweep. Each command that continues the sweep gets what earlier commands left, and a
// larger budget continues the sweep.
func TestBudgetsAreOfTheWholeSweep(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 5, "fail")
	p.Budget.Failures = 2
	ran := 0
	o := options()
	o.Tell = func(n News) {
		if n.State == journal.Running {
			ran++
		}
	}
	for _, c := range []struct {
		failures int
		retry    bool
		ran      int
	}{{2, false, 2}, {2, false, 0}, {3, false, 1}, {1, true, 1}} {
		p.Budget.Failures, o.Retry, ran = c.failures, c.retry, 0
		err := Run(t.Context(), dir, p, o)
		if err == nil || !strings.Contains(err.Error(), "failed, which is its budget; ") ||
			!strings.HasSuffix(err.Error(), "the same command with a larger budget goes on with the others") {
			t.Errorf("%+v: it said %v", c, err)
		}
		if ran != c.ran {
			t.Errorf("%+v: %d runs began", c, ran)
		}
	}

	dir = t.TempDir()
	p = planOf(t, 2, "wait")
	p.Budget.Time = time.Second / 2
	o.Retry = false
	for want := range 2 { // nothing is left for the second command
		ran = 0
		if err := Run(t.Context(), dir, p, o); err == nil || !strings.Contains(err.Error(), " is used up; ") ||
			ran != 1-want {
			t.Errorf("%d runs began, and it said %v", ran, err)
		}
		events, err := journal.Read(filepath.Join(dir, journalName))
		if err != nil {
			t.Fatal(err)
		}
		if p.Budget.Time = spent(events); p.Budget.Time <= 0 {
			t.Fatal("the run took no time")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Tell = func(News) { cancel() }
	p.Budget.Time = time.Hour
	if err := Run(ctx, dir, p, o); !errors.Is(err, monitor.ErrInterrupted) {
		t.Errorf("with a larger budget it said %v", err)
	}
}

// psbench ends a run that takes too long and counts it as failed, and the sweep continues. If the run is already
// complete, it counts as done.
func TestRunTimeout(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 1, "wait", "hang", "work")
	p.RunTimeout = time.Second
	err := Run(t.Context(), dir, p, options())
	if err == nil || !strings.HasPrefix(err.Error(), "2 of the 3 runs of the sweep ") {
		t.Errorf("it said %v", err)
	}
	const want = `cell=0 wait/0 failed it took longer than 1s, which is the run_timeout, and was ended
cell=1 hang/0 failed it took longer than 1s, which is the run_timeout, and was ended
cell=2 work/0 done
`
	if got := states(t, dir); got != want {
		t.Errorf("the runs are\n%s", got)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("these are left: %v", left)
	}
}

// A clock that jumps changes neither the order of events nor the time that counts for the budget.
func TestClockThatJumps(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 3, "work")
	p.Budget.Time = time.Hour
	calls := 0
	o := options()
	o.Now = func() time.Time {
		calls++
		return time.Date(2026+calls*7%13-6*(calls%5), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Tell = func(n News) {
		if n.State == journal.Done {
			cancel()
		}
	}
	if err := Run(ctx, dir, p, o); !errors.Is(err, monitor.ErrInterrupted) {
		t.Errorf("it said %v", err)
	}
	o.Tell = nil
	before := written(t, dir)
	if err := Run(t.Context(), dir, p, o); err != nil {
		t.Error(err)
	}
	if got, want := states(t, dir), "cell=0 work/0 done\ncell=0 work/1 done\ncell=0 work/2 done\n"; got != want ||
		len(before) != 1 {
		t.Errorf("after %d runs the runs are\n%s", len(before), got)
	}
	for run, when := range before {
		if written(t, dir)[run] != when {
			t.Errorf("%s ran again", run)
		}
	}
}
