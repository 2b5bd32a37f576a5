//go:build slurm

// Package cluster tests psbench on several hosts. The tests use a Slurm cluster of network namespaces on this
// machine, which up.sh starts and down.sh removes. The tests need root and the programs listed in CONTRIBUTING.md.
package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// binary is the tested psbench.
var binary = os.Getenv("PSBENCH")

func TestMain(m *testing.M) {
	if binary == "" {
		fmt.Fprintln(os.Stderr, "PSBENCH must name the psbench that is to be tested: make test-slurm does")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// slurm is a cluster. The nodes are node1, node2 and so on.
type slurm struct {
	t         *testing.T
	dir       string   // folder of its state
	prefix    string   // prefix of its namespaces
	temporary string   // TMPDIR of programs in the cluster
	env       []string // further environment of programs in the cluster
	owner     *os.File // the cluster exists while this is open
}

var clusters atomic.Int32 // number of clusters started

// up starts a cluster. Several clusters may exist. env configures its links, as described in up.sh.
func up(t *testing.T, nodes int, env ...string) *slurm {
	t.Helper()
	s := &slurm{t: t, dir: filepath.Join(t.TempDir(), "s"),
		prefix: fmt.Sprintf("psbt%d%c", os.Getpid()%10000, 'a'+clusters.Add(1)), temporary: t.TempDir()}
	watched, owner, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.owner = owner
	script := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(append(os.Environ(), "D="+s.dir, "P="+s.prefix, "SLURMD_TIMEOUT=120", "OWNER=3"), env...)
		cmd.ExtraFiles = []*os.File{watched} // becomes descriptor 3 of the script
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	t.Cleanup(func() {
		script("./down.sh")
		_, _ = owner.Close(), watched.Close()
	})
	script("./up.sh", fmt.Sprint(nodes), "4")
	return s
}

// command returns a command on the login node.
func (s *slurm) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.dir, "login"), args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"TMPDIR=" + s.temporary}, s.env)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// srun runs psbench on so many nodes with one task each, and returns the output.
func (s *slurm) srun(nodes int, args ...string) (string, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	out, err := s.command(ctx, s.words(nodes, args...)...).CombinedOutput()
	return string(out), err
}

// words returns a command line that starts psbench on so many nodes, one task each. If a node's link was down, srun
// would wait a minute for news of its task. This command line limits that wait to ten seconds after another task
// has ended.
func (s *slurm) words(nodes int, args ...string) []string {
	return append([]string{"srun", "--quiet", "--kill-on-bad-exit=0", "--wait=10", "--mpi=pmi2",
		fmt.Sprintf("--nodes=%d", nodes), "--ntasks-per-node=1", binary}, args...)
}

// on runs a command on a node and returns the output.
func (s *slurm) on(node string, args ...string) (string, error) {
	out, err := exec.Command(filepath.Join(s.dir, "on"), append([]string{node}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// pids returns the processes of a node whose command lines match a pattern.
func (s *slurm) pids(node, pattern string) []string {
	out, err := s.on(node, "pgrep", "-f", pattern)
	if err != nil { // status 1: there are none, or the node is gone
		return nil
	}
	return strings.Fields(out)
}

// crash ends all processes of a node at once.
func (s *slurm) crash(node string) {
	s.t.Helper()
	pid, err := os.ReadFile(filepath.Join(s.dir, "run", node+".init"))
	if err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command("kill", "-9", strings.TrimSpace(string(pid))).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// link changes the bridge's end of a node's link, if the cluster has a bridge: up or down, or whether it belongs to
// the bridge.
func (s *slurm) link(number int, change ...string) {
	s.t.Helper()
	words := append([]string{"-n", s.prefix + "-login", "link", "set", fmt.Sprintf("p%d", number)}, change...)
	if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// wire sends a command to the wire, if the cluster has one.
func (s *slurm) wire(line string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "wire"), []byte(line+"\n"), 0); err != nil {
		s.t.Fatal(err)
	}
}

// slow makes a node's psbench processes run for a fifth of the time, from the first process to the last.
func (s *slurm) slow(node string, r *struck) {
	s.t.Helper()
	until(s.t, "on "+node+" something runs", func() bool { return len(s.pids(node, processes())) > 0 || r.over() })
	const pulses = `while p=$(pgrep -f "$PATTERN"); do kill -STOP $p; sleep 0.2; kill -CONT $p; sleep 0.05; done 2>/dev/null`
	cmd := exec.Command(filepath.Join(s.dir, "on"), node, "sh", "-c", pulses)
	cmd.Env = append(os.Environ(), "PATTERN="+processes())
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// processes returns a pattern for the command lines of all psbench processes.
func processes() string { return "^" + binary + "|__builtin-plugin|__supervisor" }

// recover makes lost or cut-off nodes accept jobs again.
func (s *slurm) recover(nodes ...string) {
	s.t.Helper()
	for _, node := range nodes {
		if _, err := s.on(node, "true"); err == nil {
			continue
		}
		if out, err := exec.Command("./node.sh", s.dir, s.prefix, node).CombinedOutput(); err != nil {
			s.t.Fatalf("%s does not start again: %v: %s", node, err, out)
		}
	}
	control := func(words ...string) string {
		out, _ := s.command(s.t.Context(), words...).CombinedOutput() // the loop waits for the required state
		return string(out)
	}
	// Marking a node as down ends its jobs. Otherwise, Slurm waits for news of them.
	names := "nodename=" + strings.Join(nodes, ",")
	control("scontrol", "update", names, "state=down", "reason=fault")
	until(s.t, "Slurm gives its jobs up", func() bool { return control("squeue", "--noheader") == "" })
	until(s.t, "all nodes are idle", func() bool {
		control("scontrol", "update", names, "state=resume")
		return strings.Count(control("sinfo", "--noheader", "--Node", "--format=%T"), "idle\n") == len(nodes)
	})
}

// within returns the cluster for use in a subtest.
func (s *slurm) within(t *testing.T) *slurm {
	t.Helper()
	within := *s
	within.t = t
	return &within
}

// clean reports everything that a run has left on nodes.
func (s *slurm) clean(nodes ...string) {
	s.t.Helper()
	for _, node := range nodes {
		if left := s.pids(node, processes()); len(left) > 0 {
			out, _ := s.on(node, "ps", "-o", "pid,args", "-p", strings.Join(left, ","))
			s.t.Errorf("on %s are left:\n%s", node, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.temporary, "*")); len(left) > 0 {
		s.t.Errorf("%v are left", left)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	untilOften(t, 50*time.Millisecond, what, holds)
}

// untilOften does the same as until with a given polling interval.
func untilOften(t *testing.T, every time.Duration, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !holds(); time.Sleep(every) {
		if time.Now().After(late) {
			t.Fatalf("it never came to pass that %s", what)
		}
	}
}

// program builds the program of a folder.
func program(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(folder))
	cmd := exec.Command("go", "build", "-o", path, folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// lines collects the lines that a running process prints.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
