//go:build !race

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tinySweep is a sweep of 2 cells with 3 runs each, without the A/A cell.
type tinySweep struct {
	t    *testing.T
	dir  string
	temp string // TMPDIR of the sweep, which identifies its processes
}

func newTinySweep(t *testing.T) *tinySweep {
	temp, err := os.MkdirTemp("", "ps") // t.TempDir would contain the test's name, which makes paths too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	return &tinySweep{t, filepath.Join(t.TempDir(), "sweep"), temp}
}

// start starts or continues the sweep.
func (s *tinySweep) start(said *bytes.Buffer, environ ...string) *exec.Cmd {
	s.t.Helper()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe",
		Args: []string{
			"psbench", "sweep", "--axis", "server=average,average_batch", "--repeats", "3", "--no-again", "--out",
			s.dir,
			"--ntrainer", "2", "--nserver", "1", "--iterations", "2", "--warmup", "none",
			"--set", "model.num_embeddings=100", "--set", "model.embedding_dim=100", "--set",
			"model.dense_input_size=100", "--set", "model.dense_output_size=100",
		},
		Env: append(os.Environ(), append(environ, "TMPDIR="+s.temp)...), Stderr: said,
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// finish runs the sweep to its end.
func (s *tinySweep) finish() {
	s.t.Helper()
	var said bytes.Buffer
	if err := s.start(&said).Wait(); err != nil {
		s.t.Fatalf("it ended with %v: %s", err, said.String())
	}
}

// killed waits until psbench and all its leftovers are gone. It reports whether psbench was killed.
func (s *tinySweep) killed(cmd *exec.Cmd, said *bytes.Buffer) bool {
	s.t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		s.t.Fatalf("it ended with %v: %s", err, said.String())
	}
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left := append(s.processes(), s.sockets()...)
		if len(left) == 0 {
			return killed
		}
		if time.Now().After(late) {
			s.t.Fatalf("of a psbench that was killed %v are left", left)
		}
	}
}

// processes returns the command lines of all processes with the sweep's TMPDIR.
func (s *tinySweep) processes() (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if environ, err := os.ReadFile(file); err == nil && bytes.Contains(environ, []byte("TMPDIR="+s.temp+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			all = append(all, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// run waits for a process of a run and returns its ID.
func (s *tinySweep) run() int {
	s.t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(time.Millisecond) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if line, _ := os.ReadFile(file); bytes.HasPrefix(line, []byte("psbench\x00run\x00")) &&
				bytes.Contains(line, []byte(s.dir)) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				return pid
			}
		}
	}
	s.t.Fatal("no run began")
	return 0
}

// sockets returns the folders that a run has created in its TMPDIR.
func (s *tinySweep) sockets() []string {
	names, _ := filepath.Glob(filepath.Join(s.temp, "*"))
	return names
}

// done returns the completed runs. The values identify the result files, so that a rewritten file is noticed.
func (s *tinySweep) done() map[string]string {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, "runs/*/*/result.json"))
	runs := map[string]string{}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "incomplete")); err == nil ||
			strings.Contains(file, ".failed-") {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			s.t.Fatal(err)
		}
		runs[filepath.Dir(file)] = info.ModTime().String() + " " + strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino,
			10)
	}
	return runs
}

// keeps fails the test if a completed run has changed or disappeared.
func (s *tinySweep) keeps(before map[string]string, when string) map[string]string {
	s.t.Helper()
	after := s.done()
	for run, was := range before {
		if after[run] != was {
			s.t.Errorf("%s, %s was repeated or lost", when, run)
		}
	}
	return after
}

// structure returns the names of all files of a sweep, except files moved aside and journals.
func (s *tinySweep) structure() (names []string) {
	s.t.Helper()
	aside := regexp.MustCompile(`\.failed-[0-9]+(/|$)`)
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(s.dir, path); err == nil && !e.IsDir() && !aside.MatchString(name) &&
			!strings.HasPrefix(name, "journal/") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

// status returns the output of psbench sweep status.
func (s *tinySweep) status() string {
	s.t.Helper()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"psbench", "sweep", "status", s.dir}, Env: os.Environ()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.ReplaceAll(string(out), s.dir, "SWEEP")
}

// After a kill at a random moment or between two steps, the sweep can be continued. No completed run is repeated or
// lost, and no process remains. At the end its folder equals the folder of an undisturbed sweep. The tests in
// core/study/sweep/conduct cover every point, with runs that do almost nothing.
func TestSweepIsKilled(t *testing.T) {
	t.Parallel()
	undisturbed := newTinySweep(t)
	start := time.Now()
	undisturbed.finish()
	takes := time.Since(start)
	want, status := undisturbed.structure(), undisturbed.status()
	const all = "sweep SWEEP: 6 runs of 2 cells in 3 rounds\n0 waiting, 0 running, 6 done, 0 failed; 0 cells skipped\n"
	if status != all {
		t.Errorf("it is\n%swant\n%s", status, all)
	}
	moments, points := 20, 3
	if testing.Short() {
		moments, points = 3, 1
	}
	same := func(s *tinySweep, how string) {
		if d := cmp.Diff(want, s.structure()); d != "" {
			t.Errorf("after it was killed %s (-undisturbed +killed):\n%s", how, d)
		}
		if got := s.status(); got != status {
			t.Errorf("after it was killed %s it is\n%s", how, got)
		}
	}
	s := newTinySweep(t)
	var before map[string]string
	for range moments {
		moment := rand.N(takes / 2)
		var said bytes.Buffer
		cmd := s.start(&said)
		time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		ended := !s.killed(cmd, &said)
		before = s.keeps(before, "killed after "+moment.String())
		if ended || len(before) == 6 {
			s.finish()
			same(s, "at random moments")
			s, before = newTinySweep(t), nil
		}
	}
	s.finish()
	s.keeps(before, "killed at random moments")
	same(s, "at random moments")
	for range points {
		point := 1 + rand.IntN(40) // there are more than fifty
		s := newTinySweep(t)
		var said bytes.Buffer
		if !s.killed(s.start(&said, killVariable+"="+strconv.Itoa(point)), &said) {
			t.Fatalf("there is no point %d: %s", point, said.String())
		}
		before := s.done()
		s.finish()
		s.keeps(before, "killed at point "+strconv.Itoa(point))
		same(s, "at point "+strconv.Itoa(point))
	}
}

// Ctrl-C ends a sweep and its current run at once. Before that, psbench sweep status names the process that conducts
// the sweep.
func TestSweepIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newTinySweep(t)
	var said bytes.Buffer
	cmd := s.start(&said)
	// The run is stopped, so the sweep cannot end before the other commands do.
	run := s.run()
	if err := syscall.Kill(run, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if got, want := s.status(), "run by process "+strconv.Itoa(cmd.Process.Pid)+" on "; !strings.Contains(got, want) ||
		!strings.Contains(got, "1 running") {
		t.Errorf("it is\n%swant %s", got, want)
	}
	var second bytes.Buffer
	if err := s.start(&second).Wait(); err == nil ||
		!strings.Contains(second.String(), " is already run by process "+strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("a second psbench says %v: %s", err, second.String())
	}
	if err := errors.Join(cmd.Process.Signal(os.Interrupt), syscall.Kill(run, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitSignal ||
		!strings.Contains(said.String(), "has ended early: interrupted; ") {
		t.Errorf("it ended with %v: %s", err, said.String())
	}
	if left := slices.Concat(s.processes(), s.sockets()); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	before := s.done()
	s.finish()
	s.keeps(before, "interrupted")
	if len(s.done()) != 6 {
		t.Errorf("%d runs are done", len(s.done()))
	}
}
