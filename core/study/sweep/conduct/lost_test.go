package conduct

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// A run with a damaged result is not done, whatever the journal says. The run is repeated.
func TestDamagedResult(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 1, "work")
	if err := Run(t.Context(), dir, p, options()); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, p.Turns(0)[0].Folder)
	damage := []func() error{
		func() error { return os.WriteFile(filepath.Join(run, "result.json"), []byte("{"), 0o600) },
		func() error { return os.Remove(filepath.Join(run, "result.json")) },
		func() error { return os.Mkdir(filepath.Join(run, "incomplete"), 0o700) },
		func() error { return os.RemoveAll(run) },
		func() error { return errors.Join(os.RemoveAll(run), os.WriteFile(run, nil, 0o600)) },
	}
	for i, do := range damage {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if err := do(); err != nil {
				t.Fatal(err)
			}
			s, err := StatusOf(dir)
			if err != nil || s.Account[0].State != journal.Waiting || !s.Account[0].Lost || s.Account[0].Reason == "" {
				t.Errorf("of damage %d the run is %+v, %v", i, s.Account[0], err)
			}
			ran := 0
			o := options()
			o.Tell = func(News) { ran++ }
			if err := Run(t.Context(), dir, p, o); err != nil || ran != 2 {
				t.Errorf("after damage %d it said %v", i, err)
			}
			if got, want := states(t, dir), "cell=0 work/0 done\n"; got != want {
				t.Errorf("after damage %d the runs are\n%s", i, got)
			}
		})
	}
}

// If psbench was killed, its run does not count as running while the next psbench runs another run.
func TestNothingRunsThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 1, "work", "work")
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	w, err := journal.Create(filepath.Join(dir, journalName), 1, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := p.Turns(0)[1]
	if err := errors.Join(w.Append(journal.Event{Run: last.ID(), State: journal.Running}), w.Close()); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Tell = func(n News) {
		s, err := StatusOf(dir)
		if running := s.Account.Counts()[journal.Running]; err != nil || running > 1 ||
			n.State == journal.Done && running > 0 {
			t.Errorf("when %s is %s, %d run, %v", n.ID(), n.State, running, err)
		}
	}
	if err := Run(t.Context(), dir, p, o); err != nil {
		t.Error(err)
	}
}

// If the lock is removed or the sweep folder is moved, psbench ends before its next run. It counts no run as failed.
func TestLockIsLost(t *testing.T) {
	for _, does := range []string{"work", "fail"} {
		t.Run(does, func(t *testing.T) {
			dir := t.TempDir()
			p := planOf(t, 2, does)
			o := options()
			o.Tell = func(n News) {
				if n.State == journal.Running {
					if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
						t.Error(err)
					}
				}
			}
			want := "has ended early: its lock " + filepath.Join(dir, lockName) + " was removed, or its folder moved"
			if err := Run(t.Context(), dir, p, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it said %v", err)
			}
			state := map[string]string{"work": "done", "fail": "waiting the server has died"}[does]
			if got, want := states(t, dir), "cell=0 "+does+"/0 "+state+"\ncell=0 "+does+"/1 waiting\n"; got != want {
				t.Errorf("the runs are\n%swant\n%s", got, want)
			}
		})
	}
}

// The sweep ends if psbench cannot create run folders. Otherwise all runs would fail.
func TestNoRoomForRuns(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 1, "work")
	runs := filepath.Join(dir, "runs")
	o := options()
	o.Step = func(point string) {
		if point == "journal after create" {
			if err := os.WriteFile(runs, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	want := "has ended early: no run folder can be made in " + filepath.Join(dir, filepath.Dir(p.Turns(0)[0].Folder)) +
		": not a directory; of its 1 run 0 are done and 0 failed"
	if err := Run(t.Context(), dir, p, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it said %v, want %s", err, want)
	}
	if _, err := StatusOf(dir); err == nil || !strings.HasPrefix(err.Error(), "the run folder "+runs) ||
		!strings.HasSuffix(err.Error(), " cannot be read: not a directory") {
		t.Errorf("it said %v", err)
	}
}

// If the runs of a cell fail at once, their measured time replaces the plan's estimate.
func TestExpectedOfCellThatFails(t *testing.T) {
	p := planOf(t, 2, "work", "fail", "work")
	for i := range p.Cells {
		p.Cells[i].Expected = time.Hour
	}
	entry := func(cell int, state journal.State, seconds float64) Entry {
		return Entry{Turn: sweep.Turn{Cell: cell}, Run: journal.Run{State: state, Seconds: seconds}}
	}
	a := Account{entry(0, journal.Done, 4), entry(0, journal.Failed, 100), entry(1, journal.Failed, 1),
		entry(2, journal.Waiting, 0)}
	expected := a.expected(p)
	if got, want := []time.Duration{expected(0), expected(1), expected(2)}, []time.Duration{4 * time.Second,
		time.Second, 4 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("the cells take %v, want %v", got, want)
	}
}
