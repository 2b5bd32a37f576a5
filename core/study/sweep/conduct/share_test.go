package conduct

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
)

// sharing returns the options of a psbench that shares a sweep. Its claims expire soon.
func sharing() Options {
	o := options()
	o.Share, o.Sharing = true, share.Options{Beat: 20 * time.Millisecond, Expiry: 500 * time.Millisecond, Crowded: true}
	return o
}

// sharer returns a process that works on the sweep at dir. The process kills itself at the given point; with 0 it
// completes the sweep.
func sharer(t *testing.T, dir string, p *sweep.Plan, point int) *exec.Cmd {
	t.Helper()
	cmd := conductor(t, dir, p, point)
	cmd.Env = append(cmd.Env, "PSBENCH_CONDUCT_SHARE=1")
	return cmd
}

// workTogether starts one process per folder at the same time. All processes work on the same sweep.
func workTogether(t *testing.T, p *sweep.Plan, dirs ...string) {
	t.Helper()
	var working sync.WaitGroup
	for _, dir := range dirs {
		cmd := sharer(t, dir, p, 0)
		working.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	working.Wait()
}

// once reports an error for each run that has no result or several, and for each round that several psbenches ran.
func once(t *testing.T, dir string, p *sweep.Plan) {
	t.Helper()
	if after := written(t, dir); len(after) != p.Runs() {
		t.Errorf("%d runs have a result, want %d", len(after), p.Runs())
	}
	events, err := journal.Read(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	writers, started := map[string]string{}, map[string]int{}
	for _, e := range events {
		if e.State == journal.Running {
			started[e.Run]++
			round := filepath.Base(e.Run)
			if w := writers[round]; w != "" && w != e.Writer {
				t.Errorf("round %s was run by %s and %s", round, w, e.Writer)
			}
			writers[round] = e.Writer
		}
	}
	for run, n := range started {
		if n != 1 {
			t.Errorf("%s ran %d times", run, n)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "work/*/*/*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// Several psbenches share a sweep by whole rounds, including the A/A cell. Each run runs once.
func TestShare(t *testing.T) {
	t.Parallel()
	p := planOf(t, 6, "work", "work", "work")
	p.Again = true
	p.Identify()
	dir := filepath.Join(t.TempDir(), "sweep")
	workTogether(t, p, dir, dir, dir)
	once(t, dir, p)
	states(t, dir)
	if err := Run(t.Context(), dir, p, options()); err == nil ||
		!strings.HasSuffix(err.Error(), "is shared by several psbench processes: give --share to work on it, too") {
		t.Errorf("it said %v", err)
	}
	if s, err := StatusOf(dir); err != nil || len(s.Workers) != 0 || s.Account.Counts()[journal.Done] != p.Runs() {
		t.Errorf("its status is %+v, %v", s, err)
	}
	lonely := t.TempDir()
	if err := Run(t.Context(), lonely, p, options()); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), lonely, p, sharing()); err == nil ||
		!strings.Contains(err.Error(), "was begun without --share, so it cannot be shared") {
		t.Errorf("it said %v", err)
	}
}

// A failed run counts as failed for all psbenches. Only a psbench with Retry repeats it, and only once.
func TestShareFailures(t *testing.T) {
	t.Parallel()
	p := planOf(t, 2, "fail", "work")
	dir := filepath.Join(t.TempDir(), "sweep")
	o := sharing()
	for range 2 {
		if err := Run(t.Context(), dir, p, o); err == nil ||
			!strings.HasPrefix(err.Error(), "2 of the 4 runs of the sweep ") {
			t.Errorf("it said %v", err)
		}
		o.Retry = true
	}
	const want = `cell=0 fail/0 failed the server has died
cell=0 fail/1 failed the server has died
cell=1 work/0 done
cell=1 work/1 done
`
	if got := states(t, dir); got != want {
		t.Errorf("the runs are\n%s", got)
	}
	events, err := journal.Read(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	if attempts := journal.Runs(events)[p.Cells[0].ID+"/0"].Attempts; attempts != 2 {
		t.Errorf("it was started %d times", attempts)
	}
}

// Whenever one psbench is killed, another continues the round after the claim has expired. No result is lost or made
// twice.
func TestSharerKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	p := planOf(t, 1, "work", "work")
	for point := 1; ; point++ {
		if testing.Short() && point%5 != 0 {
			continue
		}
		dir := filepath.Join(t.TempDir(), "sweep")
		out, err := sharer(t, dir, p, point).CombinedOutput()
		if !killed(t, out, err) {
			if point < 15 {
				t.Errorf("it was killed at %d points only", point-1)
			}
			return
		}
		before := written(t, dir)
		if out, err := sharer(t, dir, p, 0).CombinedOutput(); err != nil {
			t.Fatalf("killed at point %d nobody goes on: %v: %s", point, err, out)
		}
		after := written(t, dir)
		for run, when := range before {
			if after[run] != when {
				t.Errorf("killed at point %d, %s ran again", point, run)
			}
		}
		if len(after) != p.Runs() {
			t.Errorf("killed at point %d the runs are\n%s", point, states(t, dir))
		}
	}
}

// An interrupted psbench gives up its round at once, so that others can take it.
func TestSharerInterrupted(t *testing.T) {
	t.Parallel()
	p := planOf(t, 1, "wait")
	dir := filepath.Join(t.TempDir(), "sweep")
	cmd := sharer(t, dir, p, 0)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "its run has begun", func() bool {
		s, err := StatusOf(dir)
		return err == nil && s.Account.Counts()[journal.Running] == 1 && s.Workers[0].PID == cmd.Process.Pid
	})
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("%v: %s", err, said.String())
	}
	if s, err := StatusOf(dir); err != nil || len(s.Workers) != 0 || s.Account.Counts()[journal.Waiting] != 1 {
		t.Errorf("its status is %+v, %v", s, err)
	}
}
