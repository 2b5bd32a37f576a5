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

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// Every run of the plan runs once, in the planned order and with its own seed. A failed run does not stop the others.
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
	if got := states(t, dir); !strings.HasPrefix(got, ended) ||
		strings.Count(got, "cell=4 work badly") != strings.Count(got, "badly/0 done")+strings.Count(got,
			"badly/1 done") ||
		strings.Count(got, "failed SIGSEGV: segmentation violation\n") != 2 {
		t.Errorf("the runs are\n%s", got)
	}
	// A second call repeats no run. With Retry it repeats only the failed runs.
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
	if err := Run(t.Context(), dir, p, o); err == nil || len(started) != 6 ||
		strings.Contains(strings.Join(started, " "), "work") {
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

// A second psbench names the process that runs the sweep. If that process and its run are killed, the second psbench
// continues the sweep.
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
	if want := fmt.Sprintf("the sweep %s is already run by process %d on %s since 20", dir, first.Process.Pid,
		host); err == nil || !strings.HasPrefix(err.Error(), want) {
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
	o.Tell = func(n News) { cancel() } // cancels when the run starts again
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

// until waits up to a minute until holds returns true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("it never came to pass that %s", what)
		}
	}
}

// processesOf returns the command lines of other processes that contain the path of dir.
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

// An interrupted run goes back to waiting and runs again later. This is true even if the run ignores the signal and has
// to be killed.
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
					for late := time.Now().Add(time.Minute); !folder.IsRun(filepath.Join(dir, n.Folder)) &&
						time.Now().Before(late); {
						time.Sleep(time.Millisecond)
					}
					cancel()
				})
			}
			ended := 0
			o.Ending = func() func() { return func() { ended++ } }
			err := Run(ctx, dir, p, o)
			watching.Wait()
			want := "the sweep " + dir +
				" has ended early: interrupted; of its 1 run 0 are done and 0 failed, and the same command goes on with the others"
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

// A complete run is kept even if the last line of the journal is torn.
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
