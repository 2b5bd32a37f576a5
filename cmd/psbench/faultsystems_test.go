//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// systems are flags for trainers that use their servers differently from ddp. Each run has 2 trainers, a data
// process, and passes of some hundred milliseconds.
var systems = map[string][]string{
	"hybrid": {
		"--trainer", "hybrid", "--ntrainer", "2", "--nserver", "2", "--epochs", "60", "--set",
		"server.embedding_dim=256",
	},
	"batch_update": {"--trainer", "batch_update", "--ntrainer", "2", "--epochs", "20", "--set", "data.batches=400"},
}

func startSystem(t *testing.T, system string, args ...string) *faultRun {
	t.Helper()
	return startPsbench(t, append(systems[system], args...)...)
}

func TestKilledProcessEndsEverySystem(t *testing.T) {
	for _, c := range []struct{ system, transport, phase, victim string }{
		{"hybrid", "shm", "warm-up", "server2"},
		{"hybrid", "shm", "warm-up", "trainer0"},
		{"hybrid", "shm", "measured pass", "data"},
		{"hybrid", "tcp", "warm-up", "data"},
		{"hybrid", "tcp", "measured pass", "server3"},
		{"hybrid", "tcp", "measured pass", "trainer1"},
		{"batch_update", "shm", "warm-up", "data"},
		{"batch_update", "shm", "measured pass", "server2"},
		{"batch_update", "shm", "measured pass", "trainer1"},
		{"batch_update", "tcp", "warm-up", "server2"},
		{"batch_update", "tcp", "warm-up", "trainer0"},
		{"batch_update", "tcp", "measured pass", "data"},
	} {
		t.Run(c.system+"/"+c.transport+"/"+c.phase+"/"+c.victim, func(t *testing.T) {
			t.Parallel()
			f := startSystem(t, c.system, "--transport", c.transport)
			f.reach(c.phase)
			f.signal(c.victim, syscall.SIGKILL)
			f.ended(c.victim+" (process ", "was killed by signal 9 during "+c.phase)
			// The process may die before the warm-up has measured anything.
			if text := f.stdout.String(); (text != "" || c.phase == "measured pass") &&
				!strings.Contains(text, "INCOMPLETE: "+c.victim) {
				t.Errorf("tables are not marked incomplete:\n%s", text)
			}
		})
	}
}

func TestInterruptEndsEverySystem(t *testing.T) {
	for system, phase := range map[string]string{"hybrid": "measured pass", "batch_update": "warm-up"} {
		t.Run(system, func(t *testing.T) {
			f := startSystem(t, system)
			f.reach(phase)
			f.interrupt()
		})
	}
}

// If a process is stopped in the measured pass, the timeout error names it.
func TestStoppedProcessIsNamedInEverySystem(t *testing.T) {
	for _, c := range []struct{ system, transport, victim string }{
		{"hybrid", "shm", "trainer1"},
		{"batch_update", "tcp", "server2"},
	} {
		t.Run(c.system+"/"+c.transport+"/"+c.victim, func(t *testing.T) {
			t.Parallel()
			f := startSystem(t, c.system, append(shortTimeout, "--transport", c.transport)...)
			f.reach("measured pass")
			f.signal(c.victim, syscall.SIGSTOP)
			f.endedNaming(c.victim)
		})
	}
}

// The server of a table is killed or stopped during a call, or never returns from the call.
func TestServerFailsDuringLookupAndUpdate(t *testing.T) {
	registry := foreignPlugin(t, "stuck")
	for _, c := range []struct{ transport, inside, fault string }{
		{"shm", "lookup", "killed"},
		{"shm", "update", "killed"},
		{"tcp", "lookup", "killed"},
		{"tcp", "update", "killed"},
		{"shm", "lookup", "stopped"},
		{"tcp", "update", "stays"},
	} {
		t.Run(c.transport+"/"+c.inside+"/"+c.fault, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "inside")
			f := startSystem(t, "hybrid", append(shortTimeout, "--transport", c.transport, "--registry", registry,
				"--server", "stuck", "--set", "server.inside="+c.inside, "--set", "server.file="+file)...)
			f.reach("measured pass")
			pid := f.pidIn(file)
			switch c.fault {
			case "killed":
				f.send(pid, syscall.SIGKILL)
				f.ended("server3 (process ", "was killed by signal 9 during measured pass")
				return
			case "stopped":
				f.send(pid, syscall.SIGSTOP)
			}
			f.endedNaming("server3")
		})
	}
}

// pidIn waits for a file that contains a process ID, and returns the ID.
func (f *faultRun) pidIn(file string) int {
	f.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		pid, perr := strconv.Atoi(string(text))
		if err != nil || perr != nil {
			f.t.Fatal(err, perr)
		}
		return pid
	}
	f.t.Fatalf("there is no file %s:\n%s", file, f.text())
	return 0
}
