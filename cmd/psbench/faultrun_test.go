package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launch"
)

// patience is the maximum time that a test waits for an event. The time is far shorter than the default
// --rpc-timeout, so a test detects a run that does not notice a failure. The time is far longer than a loaded machine
// needs.
const patience = 50 * time.Second

// longRun is the maximum time until a healthy run reaches its next phase. Processes that wait for each other are slow
// on a busy machine.
const longRun = 5 * time.Minute

// leftOut reports whether a short test skips a combination of values of two lists. A short test takes every value of
// each list but not every pair. The parameter i is the index in the longer list, and j is the index in the other
// list, which has n values.
func leftOut(i, j, n int) bool { return testing.Short() && i%n != j }

// faultRun is a psbench process in which a test causes a fault.
type faultRun struct {
	t       *testing.T
	cmd     *exec.Cmd
	temp    string // TMPDIR of the process, which must be empty afterwards
	stdout  bytes.Buffer
	phase   chan string    // lines of progress
	found   map[string]int // process IDs by name, set once all processes run
	reading sync.WaitGroup
	mu      sync.Mutex
	lines   []string // standard error so far
}

// startFaulty starts a run with two passes of some hundred milliseconds each. Every part is isolated. The paths of
// sockets are short.
func startFaulty(t *testing.T, args ...string) *faultRun {
	t.Helper()
	return startPsbench(t, append([]string{
		"--isolate", "all", "--epochs", passEpochs, "--set", "model.num_embeddings=100",
		"--set", "model.embedding_dim=100", "--set", "model.dense_input_size=100", "--set",
		"model.dense_output_size=100",
	}, args...)...)
}

// startPsbench starts psbench with a new folder for temporary files.
func startPsbench(t *testing.T, args ...string) *faultRun {
	t.Helper()
	temp, err := os.MkdirTemp("", "ps")
	if err != nil {
		t.Fatal(err)
	}
	f := &faultRun{t: t, temp: temp, phase: make(chan string, 1000)}
	f.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, args...),
		Env: append(os.Environ(), "TMPDIR="+temp), Stdout: &f.stdout}
	stderr, err := f.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.reading.Go(func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			f.mu.Lock()
			f.lines = append(f.lines, s.Text())
			f.mu.Unlock()
			f.phase <- s.Text()
		}
		close(f.phase)
	})
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = os.RemoveAll(temp)
	})
	return f
}

// reach waits until the run is in a phase. The phase collection normally ends very quickly. To prolong this phase,
// reach stops the data process, which is idle since it partitioned the batches.
func (f *faultRun) reach(phase string) {
	f.t.Helper()
	if phase == "collection" {
		f.reach("measured pass")
		f.reach("trainer0: epoch 6 of " + passEpochs) // the data process has been reset by then
		f.signal("data", syscall.SIGSTOP)
	}
	for {
		select {
		case line, ok := <-f.phase:
			if !ok {
				f.t.Fatalf("the run ended before %s:\n%s", phase, f.text())
			}
			if line == "warm-up" {
				f.found = f.pids()
			}
			if line == phase {
				return
			}
		case <-time.After(longRun):
			f.t.Fatalf("the run did not reach %s:\n%s", phase, f.text())
		}
	}
}

func (f *faultRun) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "\n")
}

// signal sends sig to the process with this name as soon as the process exists. Searching all processes of the
// machine may take longer than a pass, so the search took place when the passes began.
func (f *faultRun) signal(name string, sig syscall.Signal) {
	f.t.Helper()
	if pid := f.found[name]; pid != 0 {
		f.send(pid, sig)
		return
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if pid := f.pids()[name]; pid != 0 {
			f.send(pid, sig)
			return
		}
		time.Sleep(time.Millisecond)
	}
	f.t.Fatalf("there is no process %s:\n%s", name, f.text())
}

func (f *faultRun) send(pid int, sig syscall.Signal) {
	f.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		f.t.Fatal(err)
	}
}

// pids returns the IDs of this run's processes by name. It recognises them by the run's folder in their environment,
// because their parents vary. The core and external plugins have the names of their programs.
func (f *faultRun) pids() map[string]int {
	found := map[string]int{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || len(line) == 0 { // kernel threads have no command line
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if err != nil || !bytes.Contains(env, []byte("TMPDIR="+f.temp+"\x00")) {
			continue
		}
		pid := 0
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil {
			f.t.Fatal(err)
		}
		args := strings.Split(string(line), "\x00")
		switch {
		case len(args) > 2 && args[1] == launch.BuiltinArgument:
			found[args[2]] = pid
		case len(args) > 1 && args[1] == launch.SupervisorArgument:
			found["supervisor"] = pid
		default:
			found[filepath.Base(args[0])] = pid
		}
	}
	return found
}

// end waits for the run to end, and returns its exit status and its last line.
func (f *faultRun) end() (status int, last string) {
	f.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = f.cmd.Process.Kill() })
	f.reading.Wait()
	err := f.cmd.Wait()
	if !timer.Stop() {
		f.t.Errorf("the run had not ended after %v", patience)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	lines := strings.Split(f.text(), "\n")
	return f.cmd.ProcessState.ExitCode(), lines[len(lines)-1]
}

// leavesNothing checks that no process and no file of the run remains.
func (f *faultRun) leavesNothing() {
	f.t.Helper()
	var pids map[string]int
	var files []os.DirEntry
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		// Searching all processes of the machine costs more than reading a folder.
		if files, _ = os.ReadDir(f.temp); len(files) > 0 {
			continue
		}
		if pids = f.pids(); len(pids) == 0 {
			return
		}
	}
	pids = f.pids()
	f.t.Errorf("left behind: processes %v, files %v", pids, files)
}

// ended checks that the run failed with one sentence that contains all of want, and that nothing remains.
func (f *faultRun) ended(want ...string) {
	f.t.Helper()
	status, last := f.end()
	if status == 0 {
		f.t.Errorf("the run succeeded")
	}
	if !strings.HasPrefix(last, "psbench: ") {
		f.t.Errorf("the last line is no error:\n%s", f.text())
	}
	for _, w := range want {
		if !strings.Contains(last, w) {
			f.t.Errorf("%q does not say %q", last, w)
		}
	}
	if n := strings.Count(f.text(), "psbench: "); n > 1 {
		f.t.Errorf("%d errors are printed instead of one:\n%s", n, f.text())
	}
	f.leavesNothing()
}

// interrupt sends the signal of Ctrl-C. The run must end with the exit status for interrupts.
func (f *faultRun) interrupt() {
	f.t.Helper()
	f.send(f.cmd.Process.Pid, syscall.SIGINT)
	f.ended("interrupted")
	if status := f.cmd.ProcessState.ExitCode(); status != exitSignal {
		f.t.Errorf("the exit status is %d", status)
	}
}

// kill kills the core. Nothing may remain.
func (f *faultRun) kill() {
	f.t.Helper()
	f.send(f.cmd.Process.Pid, syscall.SIGKILL)
	if status, _ := f.end(); status == 0 {
		f.t.Errorf("the run succeeded")
	}
	f.leavesNothing()
}

// shortTimeout sets a timeout that is short enough for a test, and long enough for processes on a busy machine.
var shortTimeout = []string{"--rpc-timeout", "10"}

// endedNaming checks that a run with shortTimeout timed out and named only the right process.
func (f *faultRun) endedNaming(victim string) {
	f.t.Helper()
	f.ended()
	text, _, _ := strings.Cut(f.text(), "; "+victim+" is ") // omits the sentence about a foreign part
	if !strings.Contains(text, "waited 10 s for ") {
		f.t.Errorf("it did not wait for 10 s:\n%s", text)
	}
	if !strings.HasSuffix(text, " from "+victim) && !strings.HasSuffix(text, "; "+victim+" sends no heartbeat") {
		f.t.Errorf("%s is not named:\n%s", victim, text)
	}
}
