package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/record/result"
)

// phases are the phases of a run during which the tests make processes fail.
var phases = []string{"launch", "warm-up", "measured pass", "collection"}

func TestKilledProcessEndsTheRun(t *testing.T) {
	for i, victim := range []string{"trainer1", "server2", "data", "trainer0.hook", "trainer1.criterion",
		"trainer0.model"} {
		for j, phase := range phases {
			// Processes do the same in both passes. With the race detector, TestKilledProcessEndsEverySystem covers the
			// warm-up.
			if leftOut(i, j, len(phases)) || raceDetector && phase == "warm-up" {
				continue
			}
			t.Run(victim+"/"+phase, func(t *testing.T) {
				t.Parallel()
				f := startFaulty(t)
				f.reach(phase)
				f.signal(victim, syscall.SIGKILL)
				f.ended(victim+" (process ", "was killed by signal 9")
			})
		}
	}
}

// Over TCP, a death can cut a frame in the middle.
func TestKilledProcessEndsTheRunOverTCP(t *testing.T) {
	for _, victim := range []string{"trainer0.hook", "trainer1", "server2"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			f := startFaulty(t, "--transport", "tcp")
			f.reach("measured pass")
			f.signal(victim, syscall.SIGKILL)
			f.ended(victim+" (process ", "was killed by signal 9")
		})
	}
}

func TestInterruptEndsTheRun(t *testing.T) {
	for _, phase := range phases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			f := startFaulty(t)
			f.reach(phase)
			f.interrupt()
		})
	}
}

// A run whose terminal disappears keeps its results. With nohup the run goes on.
func TestHangUpEndsTheRunAsAnInterruptDoes(t *testing.T) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // psbench must not inherit an ignored SIGHUP when the tests run under nohup
	defer signal.Stop(hangUps)
	file := filepath.Join(t.TempDir(), "result.json")
	f := startFaulty(t, "--json", file)
	f.reach("measured pass")
	f.send(f.cmd.Process.Pid, syscall.SIGHUP)
	f.ended("interrupted")
	if res, err := result.Read(file); err != nil || res.Complete || res.Error != "interrupted" {
		t.Errorf("the file holds %+v, error %v", res, err)
	}
}

func TestHangUpIsIgnoredUnderNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // child processes inherit ignored signals
	f := startFaulty(t)
	signal.Reset(syscall.SIGHUP)
	f.reach("measured pass")
	f.send(f.cmd.Process.Pid, syscall.SIGHUP)
	if status, last := f.end(); status != 0 {
		t.Errorf("exit status %d, %s", status, last)
	}
	f.leavesNothing()
}

// An interrupted run reports the work done so far. The report says if this work was part of the warm-up.
func TestInterruptedRunKeepsWhatItDid(t *testing.T) {
	for phase, pass := range map[string]string{"warm-up": result.WarmUp, "measured pass": result.Measured} {
		args := []string{"--epochs", "400"}
		if pass == result.Measured {
			args = append(args, "--warmup", "5")
		}
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "result.json")
			f := startFaulty(t, append(args, "--json", file)...)
			f.reach(phase)
			f.reach("trainer0: epoch 11 of 400")
			f.send(f.cmd.Process.Pid, syscall.SIGINT)
			f.ended("interrupted")
			res, err := result.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if res.Complete || res.Pass != pass || res.StartMS <= 0 {
				t.Errorf("complete %v, pass %q, started after %v ms", res.Complete, res.Pass, res.StartMS)
			}
			if marked := strings.Contains(f.stdout.String(),
				"\nms, all ranks, warm-up "); marked != (pass == result.WarmUp) {
				t.Errorf("the tables:\n%s", f.stdout.String())
			}
			requireAccounted(t, res)
		})
	}
}

// requireAccounted requires 10 samples per iteration, for a run with batches of 10. The number of measurements must
// match the throughput.
func requireAccounted(t *testing.T, res *result.Result) {
	t.Helper()
	iterations, measured := 0, 0
	for _, losses := range res.Losses {
		iterations += len(losses)
	}
	for _, s := range res.Series {
		if s.Type == "batch_level_metric" {
			measured += s.Len()
		}
	}
	if q := res.Throughput; iterations < 50 || q.Samples != int64(10*iterations) || q.Seconds <= 0 ||
		q.SamplesPerSecond <= 0 {
		t.Errorf("the throughput of %d iterations is %+v", iterations, q)
	}
	if measured < iterations || measured > iterations+len(res.Losses) {
		t.Errorf("%d measurements of %d iterations", measured, iterations)
	}
}

// A killed core cannot notify its processes, so they must notice the loss themselves. In the phase collection the
// test also stops a process, and that process must end, too.
func TestKilledCoreLeavesNothing(t *testing.T) {
	for _, phase := range phases {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			f := startFaulty(t)
			f.reach(phase)
			f.kill()
		})
	}
}

// A stopped process is alive but never answers. The timeout must end the run, and the error must name the process.
func TestStoppedProcessIsNamed(t *testing.T) {
	allReduce := []string{"--ntrainer", "3", "--nserver", "0"}
	for i, c := range []struct {
		victim, transport string
		args              []string
	}{
		{"trainer1", "shm", nil},
		{"server2", "tcp", nil},
		{"trainer0.model", "shm", nil},
		{"trainer1.hook", "tcp", allReduce},
		{"server2", "shm", nil},
		{"trainer0.hook", "shm", nil},
		{"trainer1.criterion", "shm", nil},
		{"trainer1.hook", "tcp", nil},
		{"trainer1.hook", "shm", allReduce},
	} {
		if testing.Short() && i >= 4 || raceDetector && i >= 2 {
			break
		}
		t.Run(strings.Join(append([]string{c.victim, c.transport}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			f := startFaulty(t, slices.Concat(shortTimeout, []string{"--transport", c.transport}, c.args)...)
			f.reach("measured pass")
			f.signal(c.victim, syscall.SIGSTOP)
			f.endedNaming(c.victim)
		})
	}
}

// A failed run reports its measurements so far and marks them as incomplete.
func TestFailedRunKeepsItsSamples(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	f := startFaulty(t, "--json", file)
	f.reach("collection") // all samples have been recorded
	f.signal("server2", syscall.SIGKILL)
	f.ended("server2")
	if !strings.Contains(f.stdout.String(), "INCOMPLETE: server2") {
		t.Errorf("the tables are not marked:\n%s", f.stdout.String())
	}
	res, err := result.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if res.Complete || !strings.Contains(res.Error, "server2") {
		t.Errorf("the file says complete %v, error %q", res.Complete, res.Error)
	}
	if !slices.ContainsFunc(res.Series, func(s *result.Series) bool { return s.Rank == 1 && s.Len() > 0 }) {
		t.Errorf("none of the %d series is of trainer1", len(res.Series))
	}
}

// At the end of the run, the core continues a stopped supervisor.
func TestStoppedSupervisorHoldsNothingUp(t *testing.T) {
	f := startFaulty(t)
	f.reach("measured pass")
	f.signal("supervisor", syscall.SIGSTOP)
	if status, last := f.end(); status != 0 {
		t.Errorf("exit status %d, %s", status, last)
	}
	f.leavesNothing()
}

// If the supervisor is killed, the run ends and no process remains.
func TestKilledSupervisorEndsTheRun(t *testing.T) {
	f := startFaulty(t)
	f.reach("measured pass")
	f.signal("supervisor", syscall.SIGKILL)
	f.ended("with its supervisor (process ")
}

// A full standard error without a reader does not make the run fail.
func TestPausedReaderOfProgressHoldsNothingUp(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = reader.Close(), writer.Close() }()
	fill(t, writer)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "--epochs", "20", "--rpc-timeout", "10", "--set",
		"model.dense_layers_count=1")
	cmd.Args[0] = "psbench"
	cmd.Stderr = writer
	if err := cmd.Run(); err != nil {
		t.Errorf("the run ended with %v", err)
	}
}

// fill writes to a pipe until the pipe is full.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	if err := pipe.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); !errors.Is(err, os.ErrDeadlineExceeded); {
		if _, err = pipe.Write(make([]byte, 4096)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
}
