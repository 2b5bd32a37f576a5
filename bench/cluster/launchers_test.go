//go:build slurm

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Under srun, all tasks report their identity, and the first task prints them.
func rollcall(t *testing.T, s *slurm) {
	for _, nodes := range []int{2, 4} {
		out, err := s.srun(nodes, "config", "--hosts")
		if err != nil {
			t.Errorf("on %d nodes: %v\n%s", nodes, err, out)
		}
		for i := range 4 {
			if there := strings.Contains(out, fmt.Sprintf("node%d", i+1)); there != (i < nodes) {
				t.Errorf("on %d nodes, node%d is told: %v\n%s", nodes, i+1, there, out)
			}
		}
	}
}

// realLaunchers returns commands that start two tasks on this machine.
func realLaunchers(t *testing.T) map[string][]string {
	return map[string][]string{
		"Open MPI": {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"},
		// Torch 1.13 on Python 3.11 treats no redirection, its default, as an error. So the standard error of both tasks
		// goes to files as well.
		"torchrun": {"torchrun", "--nproc_per_node=2", "--no_python", "-r", "0:2,1:2", "-t", "0:2,1:2", "--log_dir",
			t.TempDir()},
	}
}

// Real launchers on this machine tell each task its place: the launcher and the number of tasks.
func TestRealLaunchers(t *testing.T) {
	config := []string{binary, "config", "--hosts", "--format", "json"}
	for name, words := range realLaunchers(t) {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), words[0], slices.Concat(words[1:], config)...).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var told struct {
				Launcher string `json:"launcher"`
				Place    struct {
					Size int `json:"size"`
				} `json:"place"`
			}
			if err := json.Unmarshal(out, &told); err != nil || told.Launcher != name || told.Place.Size != 2 {
				t.Errorf("%v, %+v:\n%s", err, told, out)
			}
		})
	}
}

// onHostOfItsOwn runs a task's command line under a different host name, which Open MPI does not know.
const onHostOfItsOwn = `unset PMIX_HOSTNAME; hostname node${OMPI_COMM_WORLD_RANK:-$RANK}; exec "$@"`

// Under mpirun and torchrun, tasks find each other by a secret. The reference cases pass, and the losses match
// those on one host.
func TestRunsUnderRealLaunchers(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("a secret of this test alone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := append([]string{"run", "--ntrainer", "4", "--nserver", "2", "--iterations", "20", "--quiet"}, small...)
	want, _ := losses(t, func(file string) (string, error) {
		out, err := exec.Command(binary, append(run, "--json", file)...).CombinedOutput()
		return string(out), err
	})
	cases, err := filepath.Glob("../../core/measure/verify/reference/*rpc_average*.json")
	if err != nil || len(cases) != 3 {
		t.Fatalf("the cases are %v (%v)", cases, err)
	}
	for name, words := range realLaunchers(t) {
		t.Run(name, func(t *testing.T) {
			psbench := func(args ...string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				all := slices.Concat(words[1:], []string{"unshare", "--uts", "sh", "-c", onHostOfItsOwn, "sh", binary},
					args, []string{"--secret-file", key})
				if name == "Open MPI" { // Open MPI does not report where the first task is
					all = append(all, "--core", freeAddress(t))
				}
				out, err := exec.CommandContext(ctx, words[0], all...).CombinedOutput()
				return string(out), err
			}
			got, hosts := losses(t,
				func(file string) (string, error) { return psbench(append(run, "--json", file)...) })
			if hosts != 2 || len(got) != len(want) || len(want) == 0 {
				t.Fatalf("it ran on %d hosts, and has %d losses, want %d", hosts, len(got), len(want))
			}
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-6 {
					t.Errorf("loss %d is %v, want %v", i, got[i], want[i])
				}
			}
			if out, err := psbench(append([]string{"verify"}, cases...)...); err != nil ||
				!strings.Contains(out, "3 of 3 cases agree") {
				t.Errorf("%v\n%s", err, out)
			}
			if name == "Open MPI" { // applies to all launchers whose tasks find each other by a secret
				sweepOver(t, []string{"node0", "node1"}, psbench)
			}
		})
	}
}

// freeAddress returns an unused address of this host.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
