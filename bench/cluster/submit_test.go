//go:build slurm

package cluster

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// submitted returns the command line of psbench on the login node that runs these arguments on nodes.
func (s *slurm) submitted(command string, args ...string) []string {
	return append([]string{binary, command, "--launcher", "slurm"}, args...)
}

// jobs returns Slurm's jobs, one per line.
func (s *slurm) jobs() string {
	out, err := s.command(s.t.Context(), "squeue", "--noheader", "--format=%i %j %T").CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// nothing reports files that a command on the login node has left there, and waits until Slurm has no job.
func (s *slurm) nothing(files string) {
	s.t.Helper()
	until(s.t, "Slurm has no job", func() bool { return s.jobs() == "" })
	if left, _ := filepath.Glob(filepath.Join(files, "{.*,*}")); len(left) > 0 {
		s.t.Errorf("%v are left", left)
	}
	s.clean("node1", "node2")
}

// psbench on the login node runs on nodes, with the same losses, and the result files come back.
func submitted(t *testing.T, s *slurm) {
	dir := t.TempDir()
	args := append([]string{"--ntrainer", "4", "--nserver", "2", "--iterations", "20"}, small...)
	want, _ := losses(t, func(file string) (string, error) {
		out, err := exec.Command(binary,
			append(append([]string{"run", "--quiet"}, args...), "--json", file)...).CombinedOutput()
		return string(out), err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	said := &lines{}
	got, hosts := losses(t, func(file string) (string, error) {
		cmd := s.command(ctx,
			s.submitted("run", append(args, "--nodes", "2", "--json", file, "--out", filepath.Join(dir, "run"))...)...)
		cmd.Stdout, cmd.Stderr = said, said
		err := cmd.Run()
		return said.String(), err
	})
	if hosts != 2 || len(got) != len(want) {
		t.Fatalf("it ran on %d nodes, with %d losses, want %d", hosts, len(got), len(want))
	}
	for i := range want {
		if d := got[i] - want[i]; d > 1e-6 || d < -1e-6 {
			t.Errorf("loss %d is %v, want %v", i, got[i], want[i])
		}
	}
	for _, text := range []string{"runs on node[1-2]", "measured pass", "samples per second"} {
		if !strings.Contains(said.String(), text) {
			t.Errorf("it does not say %s:\n%s", text, said)
		}
	}
	out, err := exec.Command(binary, "show", filepath.Join(dir, "run")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "samples per second") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"verify", s.submitted("verify", "--nodes", "2"), "13 of 13 cases agree"},
		{"refused", s.submitted("run", "-p", "nope"), "psbench: Slurm did not run the job: invalid partition specified: nope"},
		{"fails", s.submitted("run",
			append([]string{"--nodes", "2", "--set", "trainer.lr=1e38", "--on-nan", "fail"}, small...)...),
			"psbench: "},
	} {
		out, err := s.command(ctx, c.args...).CombinedOutput()
		if (err == nil) != (c.name == "verify") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.name, err, c.want, out)
		}
	}
	s.nothing(dir)
}

// Ctrl-C ends a waiting job and a running job. For the running job, a partial result is kept.
func submittedIsInterrupted(t *testing.T, s *slurm) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := func(out, sign string) (*exec.Cmd, *lines) {
		args := append([]string{"--nodes", "2", "--iterations", "100000000", "--out", filepath.Join(dir, out)},
			small...)
		cmd := s.command(ctx, s.submitted("run", args...)...)
		said := &lines{}
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "it says "+sign, func() bool { return strings.Contains(said.String(), sign) })
		return cmd, said
	}
	end := func(cmd *exec.Cmd, said *lines) {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 130 || strings.Count(said.String(), "interrupted") < 1 {
			t.Errorf("exit status %d:\n%s", status, said)
		}
	}
	runs, ran := begin("partial", "measured pass")
	waits, waited := begin("none", "waits: Resources")
	end(waits, waited)
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("of a job that never ran there is a folder")
	}
	end(runs, ran)
	if !strings.Contains(ran.String(), "samples per second") {
		t.Errorf("there is no result of what ran:\n%s", ran)
	}
	if err := os.RemoveAll(filepath.Join(dir, "partial")); err != nil {
		t.Error(err)
	}

	// If psbench is killed, its job ends too.
	killed, _ := begin("killed", "measured pass")
	_ = killed.Process.Kill()
	_ = killed.Wait()
	until(t, "Slurm has no job", func() bool { return s.jobs() == "" })
	// The next psbench on the host removes files of a killed task.
	if out, err := s.srun(2, append([]string{"run", "--iterations", "2", "--quiet"}, small...)...); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	s.nothing(dir)
}

// If a job loses its first node, and so the core, it ends in time with a sentence that names the job and its nodes.
func submittedLosesItsFirstNode(t *testing.T, s *slurm) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--nodes", "2", "--iterations", "100000000", "--rpc-timeout", "4", "--out",
		filepath.Join(dir, "lost")}, small...)
	cmd := s.command(ctx, s.submitted("run", args...)...)
	said := &lines{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it measures", func() bool { return strings.Contains(said.String(), "measured pass") })
	began := time.Now()
	s.crash("node1")
	err := cmd.Wait()
	if took := time.Since(began); err == nil || took > timeout+late {
		t.Errorf("it ended after %v: %v", took, err)
	}
	if !lostFirst.MatchString(said.String()) {
		t.Errorf("it says\n%s", said)
	}
	until(t, "nothing is left on node2", func() bool { return len(s.pids("node2", processes())) == 0 })
	s.recover("node1", "node2")
	// The next psbench on the host removes files of a lost task.
	if out, err := s.srun(2, append([]string{"run", "--iterations", "2", "--quiet"}, small...)...); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	s.nothing(dir)
}

// lostFirst matches the message about a job whose first node is lost. Either the node stops sending, or Slurm
// notices the loss first.
var lostFirst = regexp.MustCompile(`(?m)^psbench: job \d+ on node\[1-2\](: nothing has come for 4 s: its first node does not answer| has ended without its result: .+)$`)

// A sweep is a job array over four nodes. One node is lost, and others do its round. Ctrl-C ends the array, and the
// same command resumes it.
func submittedSweep(t *testing.T, s *slurm) {
	dir := filepath.Join(t.TempDir(), "sweep")
	args := append([]string{"--nodes", "4", "--axis", "server=average,average_batch", "--ntrainer", "1", "--iterations",
		"2000", "--repeats", "8", "--out", dir}, small...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	begin := func() (*exec.Cmd, *lines) {
		cmd := s.command(ctx, s.submitted("sweep", args...)...)
		said := &lines{}
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	claims := func() int {
		all, _ := filepath.Glob(filepath.Join(dir, "claims", "*"))
		return len(all)
	}

	interrupted, said := begin()
	until(t, "four rounds are claimed", func() bool { return claims() >= 4 })
	_ = interrupted.Process.Signal(syscall.SIGINT)
	_ = interrupted.Wait()
	if status := interrupted.ProcessState.ExitCode(); status != 130 || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("exit status %d:\n%s", status, said)
	}
	if jobs := s.jobs(); jobs != "" {
		t.Errorf("Slurm has the jobs %s", jobs)
	}
	s.clean("node1", "node2", "node3", "node4")

	before := claims()
	goesOn, said := begin()
	until(t, "four more rounds are claimed", func() bool { return claims() >= before+4 })
	s.crash("node3")
	if err := goesOn.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	out, err := exec.Command(binary, "sweep", "status", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "24 done, 0 failed") ||
		!strings.Contains(said.String(), "the same again") {
		t.Errorf("%v\n%s\n%s", err, out, said)
	}
	journals, _ := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	for _, node := range []string{"node1-", "node2-", "node3-", "node4-"} {
		if !strings.Contains(strings.Join(journals, " "), node) {
			t.Errorf("%s has no journal: %v", node, journals)
		}
	}
	whole := 0
	for round, hosts := range hostsOfRounds(t, journals) {
		if _, err := os.Stat(filepath.Join(dir, "claims", round+".2")); err == nil { // another node had started it
			continue
		}
		if whole++; len(hosts) != 1 {
			t.Errorf("round %s was run by %v", round, hosts)
		}
	}
	if whole < 3 {
		t.Errorf("of 8 rounds %d were claimed once, want 3 and more", whole)
	}
	until(t, "Slurm has no job but that of the lost node",
		func() bool { return strings.Count(s.jobs(), "psbench") <= 1 })
	s.clean("node1", "node2", "node4")
}

// hostsOfRounds returns, for each round in a sweep's journals, the hosts that completed runs.
func hostsOfRounds(t *testing.T, journals []string) map[string]map[string]bool {
	t.Helper()
	hosts := map[string]map[string]bool{}
	for _, file := range journals {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := strings.Cut(filepath.Base(file), "-")
		for line := range strings.Lines(string(text)) {
			var run struct {
				Event struct{ State, Folder string }
			}
			if err := json.Unmarshal([]byte(line), &run); err != nil {
				t.Fatal(err)
			}
			if run.Event.State != "done" {
				continue
			}
			round := filepath.Base(run.Event.Folder)
			if hosts[round] == nil {
				hosts[round] = map[string]bool{}
			}
			hosts[round][host] = true
		}
	}
	return hosts
}
