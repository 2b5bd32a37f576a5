//go:build slurm

package cluster

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// small is a very short experiment.
var small = []string{"--model", "mlp", "--data", "dense", "--set", "model.sizes=[100,4]", "--warmup", "none"}

// The reference cases pass on two nodes and on four.
func referenceCases(t *testing.T, s *slurm) {
	for _, nodes := range []int{2, 4} {
		out, err := s.srun(nodes, "verify")
		if err != nil || !strings.Contains(out, "13 of 13 cases agree") {
			t.Errorf("on %d nodes: %v\n%s", nodes, err, out)
		}
		s.clean("node1", "node2", "node3", "node4")
	}
}

// A cluster is removed when the process that started it is killed.
func TestOwnerIsKilled(t *testing.T) {
	s := up(t, 1)
	waiting := s.command(t.Context(), "srun", "--quiet", "sleep", "1000")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	_ = s.owner.Close()
	if err := waiting.Wait(); err == nil {
		t.Error("what ran there went well")
	}
	until(t, "the namespaces are gone", func() bool {
		left, _ := filepath.Glob("/run/netns/" + s.prefix + "-*")
		return len(left) == 0
	})
	until(t, "the cluster's folder is gone", func() bool {
		_, err := os.Stat(s.dir)
		return os.IsNotExist(err)
	})
}

// losses runs an experiment by a command and returns the losses of its trainers, one after the other.
func losses(t *testing.T, run func(file string) (string, error)) (all []float64, hosts int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	if out, err := run(file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := readResult(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(r.Losses...), len(r.Placement.Hosts)
}

// The same experiment has the same losses on one host, on two nodes and on four nodes.
func sameLosses(t *testing.T, s *slurm) {
	for _, hook := range []string{"rpc", "allreduce"} {
		args := append([]string{"run", "--ntrainer", "4", "--nserver", "2", "--iterations", "20", "--ddp-hook", hook,
			"--quiet"}, small...)
		if hook == "allreduce" {
			args = append(args, "--nserver", "0")
		}
		want, _ := losses(t, func(file string) (string, error) {
			out, err := exec.Command(binary, append(args, "--json", file)...).CombinedOutput()
			return string(out), err
		})
		if len(want) == 0 {
			t.Fatal("there are no losses")
		}
		for _, nodes := range []int{2, 4} {
			got, hosts := losses(t,
				func(file string) (string, error) { return s.srun(nodes, append(args, "--json", file)...) })
			if hosts != nodes || len(got) != len(want) {
				t.Errorf("hook %s, %d nodes: it ran on %d, and has %d losses, want %d", hook, nodes, hosts, len(got),
					len(want))
				continue
			}
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-6 {
					t.Errorf("hook %s, %d nodes, loss %d is %v, want %v", hook, nodes, i, got[i], want[i])
				}
			}
		}
	}
	s.clean("node1", "node2", "node3", "node4")
}

// If options do not fit together, the error is one sentence.
func refusals(t *testing.T, s *slurm) {
	run := append([]string{"run", "--iterations", "2", "--quiet"}, small...)
	other := filepath.Join(t.TempDir(), "psbench")
	text, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(other, append(text, 0), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		prepare, repair func() error
		words           []string
		want            string
	}{
		"another binary": {
			func() error { _, err := s.on("node2", "mount", "--bind", other, binary); return err },
			func() error { _, err := s.on("node2", "umount", binary); return err },
			s.words(2, run...), "psbench: rank 1 on node2 has another psbench than rank 0 on node1",
		},
		"two tasks on a node": {
			nil, nil, append([]string{"srun", "--quiet", "--mpi=pmi2", "--nodes=1", "--ntasks=2", binary}, run...),
			"psbench: ranks 0 and 1 both run on node1, but psbench has one task on each host",
		},
		"without PMI": {
			nil, nil, append([]string{"srun", "--quiet", "--mpi=none", "--nodes=2", "--ntasks-per-node=1", binary},
				run...),
			"by Slurm this process is rank",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.prepare != nil {
				if err := c.prepare(); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := c.repair(); err != nil {
						t.Error(err)
					}
				}()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := s.command(ctx, c.words...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "goroutine ") {
				t.Errorf("%v, want %s:\n%s", err, c.want, out)
			}
		})
	}
	s.clean("node1", "node2")
}

// If a node's plugin file differs or is missing, the error is one sentence.
func otherPlugin(t *testing.T, s *slurm) {
	foreign := program(t, "../../cmd/psbench/testdata/foreign")
	s.env = []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	if out, err := s.command(t.Context(), binary, "plugin", "add", foreign).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := append([]string{"run", "--trainer", "scaled", "--ntrainer", "2", "--nserver", "1", "--iterations", "2",
		"--quiet"}, small...)
	if out, err := s.srun(2, run...); err != nil {
		t.Fatalf("where both have it: %v\n%s", err, out)
	}
	for place, want := range map[string]string{
		foreign:               "differs from the one on the core's host",
		filepath.Dir(foreign): "cannot be read",
	} {
		empty := t.TempDir()
		if place == foreign {
			empty = filepath.Join(empty, "other")
			text, err := os.ReadFile(foreign)
			if err == nil {
				err = os.WriteFile(empty, append(text, 0), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if out, err := s.on("node2", "mount", "--bind", empty, place); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := s.srun(2, run...)
		if err == nil || strings.Count("\n"+out, "\npsbench: ") != 1 || !strings.Contains(out, want) ||
			!strings.Contains(out, "node2") {
			t.Errorf("%v, want %s:\n%s", err, want, out)
		}
		if out, err := s.on("node2", "umount", place); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s.clean("node1", "node2")
}

// Several nodes share a sweep in whole rounds.
func sharedSweep(t *testing.T, s *slurm) {
	dir := filepath.Join(t.TempDir(), "sweep")
	args := append([]string{"sweep", "--axis", "server=average,average_batch", "--ntrainer", "1", "--iterations", "20",
		"--repeats", "4", "--out", dir, "--share", "--quiet"}, small...)
	if out, err := s.srun(2, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(binary, "sweep", "status", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "12 done, 0 failed") {
		t.Errorf("%v\n%s", err, out)
	}
	journals, _ := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	for _, node := range []string{"node1-", "node2-"} {
		if !strings.Contains(strings.Join(journals, " "), node) {
			t.Errorf("%s has no journal: %v", node, journals)
		}
	}
	s.clean("node1", "node2")
}

// Every run of a sweep uses all nodes of its step. The step's first task conducts the sweep in its own folder.
func sweepOverNodes(t *testing.T, s *slurm) {
	sweepOver(t, []string{"node1", "node2"}, func(args ...string) (string, error) { return s.srun(2, args...) })
	s.clean("node1", "node2")
}

// sweepOver conducts a sweep by a command whose runs use several hosts.
func sweepOver(t *testing.T, hosts []string, psbench func(args ...string) (string, error)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep")
	out, err := psbench(append([]string{"sweep", "--axis", "server=average,average_batch", "--ntrainer", "2",
		"--iterations", "20", "--repeats", "1", "--out", dir, "--quiet"}, small...)...)
	if err != nil || strings.Count(out, "the same again") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "hosts.txt")); err != nil ||
		string(text) != strings.Join(hosts, "\n")+"\n" {
		t.Errorf("the hosts of the sweep are %q, %v", text, err)
	}
	ranOn(t, dir, 3, hosts)
}

// ranOn requires that a sweep has so many runs, and that each is complete and used all these hosts.
func ranOn(t *testing.T, dir string, runs int, hosts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "result.json"))
	if err != nil || len(files) != runs {
		t.Fatalf("the results are %v, %v", files, err)
	}
	for _, file := range files {
		var r struct {
			Complete  bool   `json:"complete"`
			Placement placed `json:"placement"`
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		var names []string
		for _, h := range r.Placement.Hosts {
			names = append(names, h.Name)
		}
		if err != nil || !r.Complete || !slices.Equal(names, hosts) {
			t.Errorf("%s: it is complete: %v, and ran on %v, %v", file, r.Complete, names, err)
		}
	}
}
