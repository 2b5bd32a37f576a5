package conduct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/folder"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/sweep"
	"github.com/psbench/psbench/core/sweep/journal"
)

// Every run of the plan runs once, in its order, with its seed; one that fails keeps none from running.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "sweep")
	p := planOf(t, 2, "work", "fail", "mark", "crash", "work badly")
	p.Again = true
	p.Identify()
	o := options()
	var started, want []string
	o.Tell = func(n News) {
		if n.State == journal.Running {
			started = append(started, n.ID())
		}
		if n.State == journal.Done && n.SamplesPerSecond != float64(100*(40+n.Round)) {
			t.Errorf("%s has %v samples/s", n.ID(), n.SamplesPerSecond)
		}
		if n.Total != 12 || n.Number != len(started) {
			t.Errorf("%s is run %d of %d", n.ID(), n.Number, n.Total)
		}
	}
	err := Run(t.Context(), dir, p, o)
	if err == nil || err.Error() != "6 of the 12 runs of the sweep "+dir+" failed; psbench sweep status says why" {
		t.Errorf("it said %v", err)
	}
	for round := range 2 {
		for _, turn := range p.Turns(round) {
			want = append(want, turn.ID())
		}
	}
	if d := cmp.Diff(want, started); d != "" {
		t.Errorf("runs started (-want +got):\n%s", d)
	}
	const ended = `cell=0 work/0 done
cell=0 work/0 done
cell=0 work/1 done
cell=0 work/1 done
cell=1 fail/0 failed the server has died
cell=1 fail/1 failed the server has died
cell=2 mark/0 failed the mark says why
cell=2 mark/1 failed the mark says why
`
	if got := states(t, dir); !strings.HasPrefix(got, ended) || strings.Count(got, "cell=4 work badly") != strings.Count(got, "badly/0 done")+strings.Count(got, "badly/1 done") ||
		strings.Count(got, "failed SIGSEGV: segmentation violation\n") != 2 {
		t.Errorf("the runs are\n%s", got)
	}
	// Once more nothing runs; with Retry what failed does.
	started = nil
	before := written(t, dir)
	o.Tell = func(n News) {
		if n.State == journal.Running {
			started = append(started, n.Cell.Name)
		}
	}
	if err := Run(t.Context(), dir, p, o); err == nil || len(started) > 0 {
		t.Errorf("again it said %v and ran %v", err, started)
	}
	o.Retry = true
	if err := Run(t.Context(), dir, p, o); err == nil || len(started) != 6 || strings.Contains(strings.Join(started, " "), "work") {
		t.Errorf("with Retry it said %v and ran %v", err, started)
	}
	if d := cmp.Diff(before, written(t, dir)); d != "" {
		t.Errorf("results changed:\n%s", d)
	}
	aside, err := filepath.Glob(filepath.Join(dir, "runs/*/*.failed-1"))
	if err != nil || len(aside) != 6 {
		t.Errorf("there are %v from before, %v", aside, err)
	}
}

// A second psbench is told who runs the sweep, which goes on once that one was killed: its run
// is dead then, too.
func TestSecondPsbench(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	p := planOf(t, 1, "hang")
	first := conductor(t, dir, p, 0)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill() }()
	mark := filepath.Join(dir, p.Turns(0)[0].Folder, "incomplete")
	until(t, "the run begins", func() bool { _, err := os.Stat(mark); return err == nil })
	host, _ := os.Hostname()
	err := Run(t.Context(), dir, p, options())
	if want := fmt.Sprintf("the sweep %s is run by process %d on %s since 20", dir, first.Process.Pid, host); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it said %v, want %s", err, want)
	}
	if h, err := HeldBy(dir); err != nil || h == nil || h.PID != first.Process.Pid {
		t.Errorf("it is held by %v, %v", h, err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	o := options()
	o.Tell = func(n News) { cancel() } // it runs again
	if err := Run(ctx, dir, p, o); !errors.Is(err, monitor.ErrInterrupted) {
		t.Errorf("it said %v", err)
	}
	if _, err := os.Stat(filepath.Dir(mark) + ".failed-1"); err != nil {
		t.Error(err)
	}
	until(t, "nothing is left", func() bool { return len(processesOf(t, dir)) == 0 })
	if h, err := HeldBy(dir); err != nil || h != nil {
		t.Errorf("it is held by %v, %v", h, err)
	}
}

// until waits for a condition, at most a minute.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("it never came to pass that %s", what)
		}
	}
}

// processesOf are the command lines, other than of this process, that name a folder.
func processesOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), dir) {
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}

// What is interrupted waits, whether it heeds the signal or has to be killed, and runs again.
func TestInterrupted(t *testing.T) {
	for _, does := range []string{"wait", "hang"} {
		dir := t.TempDir()
		p := planOf(t, 1, does)
		for attempt := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			o := options()
			var watching sync.WaitGroup
			o.Tell = func(n News) {
				watching.Go(func() {
					for late := time.Now().Add(time.Minute); !folder.IsRun(filepath.Join(dir, n.Folder)) && time.Now().Before(late); {
						time.Sleep(time.Millisecond)
					}
					cancel()
				})
			}
			ended := 0
			o.Ending = func() func() { return func() { ended++ } }
			err := Run(ctx, dir, p, o)
			watching.Wait()
			want := "the sweep " + dir + " has ended early: interrupted; of its 1 run 0 are done and 0 failed, and the same command goes on with the others"
			if !errors.Is(err, monitor.ErrInterrupted) || err.Error() != want || ended != 1 {
				t.Errorf("it said %v and ended %d runs", err, ended)
			}
			if got, want := states(t, dir), "cell=0 "+does+"/0 waiting it was interrupted\n"; got != want {
				t.Errorf("the runs are\n%swant\n%s", got, want)
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, "runs/*/0.failed-*")); len(aside) != attempt {
				t.Errorf("aside are %v", aside)
			}
		}
		if left := processesOf(t, dir); len(left) > 0 {
			t.Errorf("these are left: %v", left)
		}
	}
}

func TestBudgets(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 5, "fail")
	p.Budget.Failures = 2
	err := Run(t.Context(), dir, p, options())
	if want := "has ended early: 2 runs failed, which is its budget; of its 5 runs 0 are done and 2 failed,"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it said %v", err)
	}
	p = planOf(t, 1, "wait")
	p.Budget.Time = time.Second / 2
	if err := Run(t.Context(), t.TempDir(), p, options()); err == nil || !strings.Contains(err.Error(), "has ended early: its budget of 500ms is used up; of its 1 run 0 are done") {
		t.Errorf("it said %v", err)
	}
	p = planOf(t, 1, "work")
	p.Budget.Time, p.Cells[0].Expected = time.Hour, 2*time.Hour
	if err := Run(t.Context(), t.TempDir(), p, options()); err == nil || !strings.Contains(err.Error(), "its budget of 1h0m0s has less left than the 2h0m0s that the next run takes") {
		t.Errorf("it said %v", err)
	}
}

// A sweep is held to its first plan, and may be extended; the order of its first plan stays.
func TestPlanIsHeldTo(t *testing.T) {
	dir := t.TempDir()
	if err := Run(t.Context(), dir, planOf(t, 1, "work"), options()); err != nil {
		t.Fatal(err)
	}
	before := written(t, dir)
	o := options()
	extended := options()
	extended.Extend = true
	other := planOf(t, 1, "work")
	other.Cells[0].Config["does"] = "fail"
	other.Identify()
	for _, test := range []struct {
		plan *sweep.Plan
		o    Options
		want string
	}{
		{other, o, `was begun otherwise: does was "work" and is "fail" in cell cell=0 work; it goes on only as it was begun`},
		{other, extended, "was begun otherwise: "},
		{planOf(t, 1, "fail", "work"), extended, "was begun otherwise: "},
		{planOf(t, 1, "work", "work after"), o, "was begun with less: added: cell cell=1 work after; --extend has it go on with these"},
		{planOf(t, 2, "work"), o, "was begun with less: repeats was 1 and is 2; --extend"},
	} {
		if err := Run(t.Context(), dir, test.plan, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("it said %v, want %s", err, test.want)
		}
	}
	more := planOf(t, 2, "work", "work after")
	more.Seed, more.Budget.Failures = 99, 3
	for range 2 { // the second time it needs no Extend
		if err := Run(t.Context(), dir, more, extended); err != nil {
			t.Error(err)
		}
		extended.Extend = false
	}
	after := written(t, dir)
	for run, when := range before {
		if after[run] != when {
			t.Errorf("%s ran again", run)
		}
	}
	if p, err := sweep.Read(dir); err != nil || len(after) != 4 || p.Seed != 7 || p.Budget.Failures != 3 {
		t.Errorf("%d runs are done; the plan is %+v, %v", len(after), p, err)
	}
	if err := Run(t.Context(), dir, planOf(t, 1, "work", "work after"), extended); err == nil || !strings.Contains(err.Error(), "was begun otherwise: repeats was 2 and is 1") {
		t.Errorf("it said %v", err)
	}
}

func TestBadFolders(t *testing.T) {
	strange := t.TempDir()
	if err := os.WriteFile(filepath.Join(strange, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, 1, "work")
	if err := Run(t.Context(), strange, p, options()); err == nil || !strings.HasSuffix(err.Error(), "is no sweep's but has thesis.tex in it: name one that is empty or does not exist") {
		t.Errorf("it said %v", err)
	}
	if entries, _ := os.ReadDir(strange); len(entries) != 1 {
		t.Errorf("it left %v there", entries)
	}
	if err := Run(t.Context(), filepath.Join(strange, "thesis.tex"), p, options()); err == nil || !strings.HasSuffix(err.Error(), "cannot be made: not a directory") {
		t.Errorf("it said %v", err)
	}
	damaged := t.TempDir()
	if err := Run(t.Context(), damaged, p, options()); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(damaged, journalName, "*"))
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(text), "running", "waiting", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), damaged, p, options()); err == nil || !strings.Contains(err.Error(), "the journal "+files[0]+" is corrupted in line 1") {
		t.Errorf("it said %v", err)
	}
	// A run whose folder is gone runs again: its result is what counts.
	if err := errors.Join(os.WriteFile(files[0], text, 0o600), os.RemoveAll(filepath.Join(damaged, "runs"))); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), damaged, p, options()); err != nil || len(written(t, damaged)) != 1 {
		t.Errorf("it said %v and has %v", err, written(t, damaged))
	}
}

// A binary that changes while the sweep runs ends it.
func TestBinaryThatChanges(t *testing.T) {
	p := planOf(t, 3, "work")
	other := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(other, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Binaries = append(p.Binaries, sweep.Binary{Name: "plugin part", Path: other, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})
	p.Cells[0].Plugins = []string{other}
	p.Identify()
	dir := t.TempDir()
	o := options()
	o.Tell = func(n News) {
		if n.State == journal.Done && n.Round == 1 {
			if err := os.WriteFile(other, []byte("abcd"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	want := "has ended early: binary " + other + " was changed: its SHA-256 was ba7816bf8f01 and is 88d4266fd4e6; restore it"
	if err := Run(t.Context(), dir, p, o); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "of its 3 runs 2 are done") {
		t.Errorf("it said %v", err)
	}
	if err := os.WriteFile(other, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), dir, p, options()); err != nil {
		t.Error(err)
	}
}

// Clocks that jump change neither the order of events nor what a budget is measured by.
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
	if got, want := states(t, dir), "cell=0 work/0 done\ncell=0 work/1 done\ncell=0 work/2 done\n"; got != want || len(before) != 1 {
		t.Errorf("after %d runs the runs are\n%s", len(before), got)
	}
	for run, when := range before {
		if written(t, dir)[run] != when {
			t.Errorf("%s ran again", run)
		}
	}
}

// A run that is complete though the last line of the journal is torn is kept.
func TestAdopted(t *testing.T) {
	dir := t.TempDir()
	p := planOf(t, 2, "work")
	if err := Run(t.Context(), dir, p, options()); err != nil {
		t.Fatal(err)
	}
	before := written(t, dir)
	files, _ := filepath.Glob(filepath.Join(dir, journalName, "*"))
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], info.Size()-9); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Tell = func(n News) { t.Errorf("%s is %s", n.ID(), n.State) }
	if err := Run(t.Context(), dir, p, o); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, written(t, dir)); d != "" {
		t.Error(d)
	}
	if got, want := states(t, dir), "cell=0 work/0 done\ncell=0 work/1 done\n"; got != want {
		t.Errorf("the runs are\n%s", got)
	}
}
