package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launchers/pmi/pmitest"
)

// spoken collects the output of a process. Other goroutines may read the output at the same time.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// stepOf starts psbench as two tasks of a Slurm step. The tasks believe that they run on two nodes.
func stepOf(t *testing.T, args ...string) (tasks [2]*exec.Cmd, said [2]*spoken) {
	t.Helper()
	server := &pmitest.Server{Size: len(tasks)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for rank := range tasks {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Args[0] = "psbench"
		cmd.Env = append(os.Environ(), "PMI_FD=3", "PMI_SIZE=2", fmt.Sprintf("PMI_RANK=%d", rank), "SLURM_JOB_ID=7",
			"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=2",
			fmt.Sprintf("SLURM_PROCID=%d", rank), fmt.Sprintf("SLURMD_NODENAME=node%d", rank+1))
		cmd.ExtraFiles = []*os.File{server.File(t, rank)}
		said[rank] = &spoken{}
		cmd.Stdout, cmd.Stderr = said[rank], said[rank]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tasks[rank] = cmd
	}
	return tasks, said
}

// ranOn returns the hosts of each run in a sweep's folder, one line per run.
func ranOn(t *testing.T, dir string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Complete  bool `json:"complete"`
			Placement struct {
				Hosts []struct {
					Name string `json:"name"`
				} `json:"hosts"`
			} `json:"placement"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Complete {
			lines = append(lines, fmt.Sprint(r.Placement.Hosts))
		}
	}
	return lines
}

// The first task under a launcher conducts a sweep, and each run uses the hosts of all tasks. If a host is lost, the
// sweep ends but no run counts as failed. The same command continues the sweep.
func TestSweepOverTasks(t *testing.T) {
	const runs = 6
	dir := filepath.Join(t.TempDir(), "sweep")
	args :=
		append(strings.Fields("sweep --axis server=average,average_batch --repeats 2 --ntrainer 2 --seconds 1 --warmup none --quiet --out "+dir),
			strings.Fields(smallModel)...)

	tasks, said := stepOf(t, args...)
	eventually(t, "a run is done, and another runs", func() bool {
		begun, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "result.json"))
		return len(begun) > 1
	})
	_ = tasks[1].Process.Kill()
	_ = tasks[1].Wait()
	_ = tasks[0].Wait()
	if status := tasks[0].ProcessState.ExitCode(); status != exitFailure ||
		!strings.Contains(said[0].String(), " has ended early: the agent on node2 is gone; of its 6 runs ") ||
		!strings.Contains(said[0].String(), " and 0 failed, and the same command goes on with the others") {
		t.Errorf("without its agent it ends with %d and says %s", status, said[0])
	}

	tasks, said = stepOf(t, args...)
	for rank, cmd := range tasks {
		if err := cmd.Wait(); err != nil {
			t.Errorf("task %d ends with %v and says %s", rank, err, said[rank])
		}
	}
	if said[1].String() != "" || !strings.Contains(said[0].String(), "the same again") {
		t.Errorf("the first task says %s\nand the other %s", said[0], said[1])
	}
	if hosts := ranOn(t, dir); len(hosts) != runs ||
		strings.Join(hosts, "\n") != strings.TrimSuffix(strings.Repeat("[{node1} {node2}]\n", runs), "\n") {
		t.Errorf("the runs went over %v", hosts)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "hosts.txt")); err != nil || string(text) != "node1\nnode2\n" {
		t.Errorf("the hosts of the sweep are %q, %v", text, err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("in vain for %v: %s", patience, what)
		}
	}
}

// Ctrl-C reaches all tasks of a step and ends a sweep cleanly.
func TestInterruptedSweepOverTasks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	tasks, said := stepOf(t,
		append(strings.Fields("sweep --axis server=average,average_batch --repeats 2 --ntrainer 2 --iterations 100000000 --warmup none --quiet --out "+dir),
			strings.Fields(smallModel)...)...)
	eventually(t, "a run runs", func() bool {
		begun, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "*"))
		return len(begun) > 0
	})
	for _, cmd := range tasks {
		_ = cmd.Process.Signal(syscall.SIGINT)
	}
	for _, cmd := range tasks {
		_ = cmd.Wait()
	}
	if status := tasks[0].ProcessState.ExitCode(); status != exitSignal ||
		!strings.Contains(said[0].String(), " has ended early: interrupted; of its 6 runs 0 are done and 0 failed") ||
		said[1].String() != "psbench: interrupted\n" {
		t.Errorf("it ends with %d and says %s\nthe other says %s", status, said[0], said[1])
	}
}

// If the conductor is killed, its runs end on all hosts.
func TestKilledConductorOfTasks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	tasks, said := stepOf(t,
		append(strings.Fields("sweep --axis server=average,average_batch --repeats 2 --ntrainer 2 --iterations 100000000 --warmup none --quiet --out "+dir),
			strings.Fields(smallModel)...)...)
	eventually(t, "a run runs", func() bool {
		begun, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "*"))
		return len(begun) > 0
	})
	_ = tasks[0].Process.Kill()
	for _, cmd := range tasks {
		_ = cmd.Wait()
	}
	if said[1].String() != "psbench: the connection to the core, rank 0 on node1, has ended\n" {
		t.Errorf("the agent says %s", said[1])
	}
	eventually(t, "the run is gone", func() bool {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(lines, func(path string) bool {
			line, _ := os.ReadFile(path) // the process may be gone by now
			return strings.Contains(string(line), dir)
		})
	})
}

// Cells may not differ in properties that all tasks share, so psbench refuses such sweeps. It also refuses a process
// whose inherited agent addresses are invalid.
func TestSweepsThatTasksCannotRun(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\nexec psbench \"$@\"\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "psbench")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	for axis, want := range map[string]string{
		"build=psbench," + other:   " is run by " + other + ", but the tasks of the launcher are of one psbench, ",
		"interface=lo,127.0.0.0/8": `cell interface=lo has the interface "lo", but the tasks of the launcher have "": give one to all by --interface`,
	} {
		t.Run(axis, func(t *testing.T) {
			tasks, said := stepOf(t,
				append(strings.Fields("sweep --dry-run --ntrainer 2 --iterations 2 --warmup none --quiet --axis "+axis),
					strings.Fields(smallModel)...)...)
			for _, cmd := range tasks {
				_ = cmd.Wait()
			}
			if tasks[0].ProcessState.ExitCode() != exitFailure || !strings.Contains(said[0].String(), want) ||
				strings.Count(said[0].String(), "\n") != 1 || said[1].String() != "" {
				t.Errorf("axis %s: it says %s\nthe other says %s", axis, said[0], said[1])
			}
		})
	}
	a := &app{stdout: &spoken{}, stderr: &spoken{}, called: "nonsense"}
	if status := a.run(t.Context(), []string{"run"}); status != exitFailure ||
		fmt.Sprint(a.stderr) !=
			"psbench: the addresses of this run's agents are not in psbench's format\n" {
		t.Errorf("it ends with %d and says %s", status, a.stderr)
	}
}

// Noise can be measured over all tasks. The result says nothing about this machine alone, so psbench compare does not
// use it.
func TestNoiseOverTasks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "noise")
	tasks, said := stepOf(t,
		append(strings.Fields(
			"noise --sessions 2 --runs 2 --pause 0s --ntrainer 2 --iterations 2 --warmup none --quiet --out "+dir),
			strings.Fields(smallModel)...)...)
	for rank, cmd := range tasks {
		if err := cmd.Wait(); err != nil {
			t.Errorf("task %d ends with %v and says %s", rank, err, said[rank])
		}
	}
	if out := said[0].String(); !strings.Contains(out, "between sessions: ") ||
		strings.Contains(out, "psbench compare takes this") {
		t.Errorf("it says %s", out)
	}
	if hosts := ranOn(t, filepath.Join(dir, "session-2")); len(hosts) != 4 || hosts[0] != "[{node1} {node2}]" {
		t.Errorf("the runs went over %v", hosts)
	}
}
