package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/process/launchers/pmi/pmitest"
	"github.com/psbench/psbench/core/show/listing"
)

// tasksOf runs psbench config --hosts as tasks of a PMI launcher. It returns each task's output and errors.
func tasksOf(t *testing.T, size, started int, environ func(rank int) []string, args ...string) (out, errs []string) {
	t.Helper()
	server := &pmitest.Server{Size: size}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var commands []*exec.Cmd
	for rank := range started {
		cmd := exec.CommandContext(t.Context(), self, append([]string{"config", "--hosts"}, args...)...)
		cmd.Args[0] = "psbench"
		cmd.Env = append(os.Environ(), "PMI_FD=3", fmt.Sprintf("PMI_SIZE=%d", size), fmt.Sprintf("PMI_RANK=%d", rank))
		cmd.Env = append(cmd.Env, environ(rank)...)
		cmd.ExtraFiles = []*os.File{server.File(t, rank)}
		cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, cmd)
	}
	for _, cmd := range commands {
		failed := cmd.Wait() != nil
		said := fmt.Sprint(cmd.Stderr)
		if failed != (said != "") || failed && cmd.ProcessState.ExitCode() != exitFailure {
			t.Errorf("a task ends with %v and says %q", cmd.ProcessState, said)
		}
		out, errs = append(out, fmt.Sprint(cmd.Stdout)), append(errs, said)
	}
	return out, errs
}

func nothing(int) []string { return nil }

// The first task shows all tasks.
func TestHostsShowsAllTasks(t *testing.T) {
	out, errs := tasksOf(t, 3, 3, nothing, "--format", "json")
	var document listing.HostsDocument
	if err := json.Unmarshal([]byte(out[0]), &document); err != nil {
		t.Fatal(err, errs)
	}
	if len(document.Tasks) != 3 || document.Launcher != "PMI" || *document.Place.Size != 3 {
		t.Errorf("rank 0 shows %s", out[0])
	}
	for rank, task := range document.Tasks {
		if task.Rank != rank || task.PID == 0 || len(task.Binary) != 64 || task.Binary != document.Tasks[0].Binary ||
			task.Host == "" {
			t.Errorf("task %d is shown as %+v", rank, task)
		}
	}
	if out[1]+out[2]+strings.Join(errs, "") != "" {
		t.Errorf("the others say %q, and all %q on standard error", out[1:], errs)
	}
}

// If a task is missing, the others time out, and each names the tasks that have come.
func TestHostsWithoutATask(t *testing.T) {
	out, errs := tasksOf(t, 3, 2, nothing, "--rpc-timeout", "1")
	for rank, said := range errs {
		if want := fmt.Sprintf("psbench: not all of 3 tasks have answered in time: rank %d on ",
			rank); !strings.HasPrefix(said, want) || strings.Count(said, "\n") != 1 || out[rank] != "" {
			t.Errorf("rank %d says %q and shows %q", rank, said, out[rank])
		}
	}
}

// psbench reports a task whose rank differs from the rank that the launcher assigned.
func TestHostsWithDuplicateRanks(t *testing.T) {
	_, errs := tasksOf(t, 3, 3, func(rank int) []string {
		if rank == 2 {
			return []string{"PMI_RANK=1"}
		}
		return nil
	})
	if want := "psbench: rank 0 on "; !strings.HasPrefix(errs[0], want) ||
		!strings.HasSuffix(errs[0], " counts 3 tasks, but nothing has come from rank 2\n") {
		t.Errorf("rank 0 says %q", errs[0])
	}
	if said := errs[1] + errs[2]; !strings.HasPrefix(said, "psbench: two tasks are rank 1: process ") ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("the others say %q", said)
	}
}

// An invalid connection to the launcher gives an error of one sentence.
func TestHostsWithoutConnection(t *testing.T) {
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer),
		environ: []string{"PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=9999"}}
	if status := a.run(t.Context(), []string{"config", "--hosts"}); status != exitFailure ||
		fmt.Sprint(a.stderr) !=
			"psbench: PMI_FD is 9999, but that is no connection to a launcher: bad file descriptor\n" {
		t.Errorf("it ends with %d and says %s", status, a.stderr)
	}
}
