//go:build slurm

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shells is a cluster with a real sshd on each node. Slurm is not involved.
type shells struct {
	*slurm
	keys string // folder of the clients' keys
}

// sshdConfig is the sshd configuration of all nodes. %[1]s is the folder of keys, and %[2]s is the TMPDIR of
// sessions.
const sshdConfig = `HostKey %[1]s/host
AuthorizedKeysFile %[1]s/user.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv TMPDIR=%[2]s
`

// sshConfig is the user's ssh configuration. The user knows all nodes. Host locked gets a wrong key and refuses it.
// Host unknown has a key that the user does not know.
const sshConfig = `Host locked
  HostName node2
  HostKeyAlias node2
  IdentityFile %[1]s/other
Host unknown
  HostName node2
  HostKeyAlias nobody
Host second
  HostName node2
  HostKeyAlias node2
Host * !locked
  IdentityFile %[1]s/user
Host *
  IdentitiesOnly yes
  UserKnownHostsFile %[1]s/known
  GlobalKnownHostsFile none
`

// sshd starts a cluster with an ssh server on each node.
func sshd(t *testing.T, nodes int) *shells {
	t.Helper()
	s := &shells{up(t, nodes), t.TempDir()}
	for _, name := range []string{"host", "user", "other"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(s.keys, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	key, err := os.ReadFile(filepath.Join(s.keys, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("known", "node* "+string(key))
	s.write("sshd.conf", fmt.Sprintf(sshdConfig, s.keys, s.temporary))
	s.write("ssh.conf", fmt.Sprintf(sshConfig, s.keys))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // Debian's sshd needs this folder for privilege separation
		t.Fatal(err)
	}
	for i := range nodes {
		if out, err := s.on(fmt.Sprintf("node%d", i+1), "/usr/sbin/sshd", "-f",
			filepath.Join(s.keys, "sshd.conf")); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return s
}

// write writes a file to the folder of keys and returns its path.
func (s *shells) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.keys, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// from returns a command on a node or on the login node.
func (s *shells) from(ctx context.Context, node string, args ...string) *exec.Cmd {
	program, words := filepath.Join(s.dir, "on"), append([]string{node}, args...)
	if node == "login" {
		program, words = filepath.Join(s.dir, "login"), args
	}
	cmd := exec.CommandContext(ctx, program, words...)
	cmd.Env = append(os.Environ(), "TMPDIR="+s.temporary, "PSBENCH_SSH=ssh -F "+filepath.Join(s.keys, "ssh.conf"))
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// psbench runs a psbench command from a node, on these hosts.
func (s *shells) psbench(node, hosts, command string, args ...string) (string, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	out, err := s.from(ctx, node,
		append([]string{binary, command, "--hosts", s.write("hosts", hosts)}, args...)...).CombinedOutput()
	return string(out), err
}

// The tests over ssh share one cluster. In the last test, one node has no server.
func TestBySSH(t *testing.T) {
	t.Parallel() // Slurm starts nothing on this cluster
	s := sshd(t, 3)
	for _, c := range []struct {
		name string
		test func(*testing.T, *shells)
	}{
		{"reference cases", referenceCasesBySSH},
		{"same losses", sameLossesBySSH},
		{"sweep", sweepBySSH},
		{"faults", faultsBySSH},
		{"refusals", refusalsBySSH},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, &shells{s.within(t), s.keys}) })
	}
}

// The reference cases pass on the hosts in a file.
func referenceCasesBySSH(t *testing.T, s *shells) {
	out, err := s.psbench("login", "# rack\nnode1\nnode2 slots=4\nnode3", "verify")
	if err != nil || !strings.Contains(out, "13 of 13 cases agree") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = s.psbench("node1", "node1\nnode2", "comm", "pushpull", "--sizes", "4K", "--rounds", "20", "--quiet")
	if err != nil || !strings.Contains(out, "| shm+tcp ") ||
		!strings.Contains(out, "verified: fresh rows in every round") {
		t.Errorf("%v\n%s", err, out)
	}
	s.clean("node1", "node2", "node3")
}

// Processes run only on the hosts in the file, and compute the same as on one host.
func sameLossesBySSH(t *testing.T, s *shells) {
	args := append([]string{"--ntrainer", "2", "--nserver", "1", "--iterations", "20", "--quiet"}, small...)
	want, _ := losses(t, func(file string) (string, error) {
		out, err := exec.Command(binary, append(append([]string{"run"}, args...), "--json", file)...).CombinedOutput()
		return string(out), err
	})
	for _, c := range []struct {
		node, hosts string
		count       int
		warned      bool
	}{{"login", "node1\nnode2", 2, true}, {"login", "node2", 1, true}, {"node2", "node1\nnode2", 2, false},
		{"node2", "10.77.0.2\nnode1", 2, false}} {
		var said string
		got, hosts := losses(t, func(file string) (out string, err error) {
			said, err = s.psbench(c.node, c.hosts, "run", append(args, "--json", file)...)
			return said, err
		})
		if fmt.Sprint(got) != fmt.Sprint(want) || hosts != c.count {
			t.Errorf("from %s on %d hosts the losses are %v, want %v", c.node, hosts, got, want)
		}
		if warned := strings.Contains(said, "no process ran on the core's host"); warned != c.warned {
			t.Errorf("from %s: %s", c.node, said)
		}
	}
	s.clean("node1", "node2")
}

// Each run of a sweep uses the hosts in the file.
func sweepBySSH(t *testing.T, s *shells) {
	dir := filepath.Join(t.TempDir(), "sweep")
	args := append([]string{"--axis", "server=average,average_batch", "--ntrainer", "2", "--iterations", "20",
		"--repeats", "2", "--out", dir, "--quiet"}, small...)
	out, err := s.psbench("login", "node1\nnode2", "sweep", args...)
	if err != nil || !strings.Contains(out, "the same again") {
		t.Errorf("%v\n%s", err, out)
	}
	ranOn(t, dir, 6, []string{"node1", "node2"})
	s.clean("node1", "node2")
}

// If an agent cannot start, the error is one sentence with the host and the last message of ssh.
func refusalsBySSH(t *testing.T, s *shells) {
	other := filepath.Join(t.TempDir(), "psbench")
	text, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(other, append(text, 0), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.signal("KILL", "node1", "^sshd: ")
	for hosts, want := range map[string]string{
		"locked":                         "psbench: no agent on locked (rank 1): ssh has ended (exit status 255): root@node2: Permission denied (publickey).\n",
		"unknown":                        "psbench: no agent on unknown (rank 1): ssh has ended (exit status 255): Host key verification failed.\n",
		"node1":                          "psbench: no agent on node1 (rank 1): ssh has ended (exit status 255): ssh: connect to host node1 port 22: Connection refused\n",
		"nowhere":                        "psbench: no agent on nowhere (rank 1): ssh has ended (exit status 255): ssh: Could not resolve hostname nowhere: ",
		"node2 psbench=/nowhere/psbench": ": /nowhere/psbench: No such file or directory; a line of the hosts file can say where psbench is, as in node2 psbench=/opt/psbench\n",
		"node2 psbench=" + other:         "psbench: rank 1 on node2 has another psbench than rank 0 on login: ",
		"node2 psbench=/bin/true":        "psbench: no agent on node2 (rank 1): ssh has ended (exit status 0): it said nothing\n",
		"node2\nsecond":                  "psbench: second (rank 2) and node2 both are node2, but psbench has one task on each host: ",
	} {
		out, err := s.psbench("login", hosts, "run", small...)
		if err == nil || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v, want %s\n%s", hosts, err, want, out)
		}
	}
	s.clean("node1", "node2")
}

// Faults kill processes or cut links. The run must end within its timeout and two seconds, with a sentence that
// names host and rank and with the results so far. Nothing may remain on any host.
func faultsBySSH(t *testing.T, s *shells) {
	for _, c := range []struct {
		name  string
		fault func()
		want  string
	}{
		{"rank", func() { s.signal("KILL", "node2", "__builtin-plugin trainer1") },
			"psbench: on node2 trainer1 (process "},
		{"agent", func() { s.signal("KILL", "node2", "^"+binary+" agent") },
			"was lost during measured pass: the agent on node2 is gone"},
		{"ssh", func() { // an agent that cannot report anything
			s.signal("STOP", "node2", "^"+binary+" agent")
			s.signal("KILL", "node1", "^ssh -F ")
			until(t, "nothing is left on node1", func() bool { return len(s.pids("node1", binary)) == 0 })
			s.signal("CONT", "node2", "^"+binary+" agent")
		}, "was lost during measured pass: the agent on node2 is gone: ssh has ended (signal: killed)"},
		{"session", func() { s.signal("KILL", "node2", "^sshd: root@notty") },
			"was lost during measured pass: the agent on node2 is gone"},
		{"core", func() { s.signal("KILL", "node1", "^"+binary+" run") }, ""},
		{"interrupt", func() { s.signal("INT", "node1", "^"+binary+" run") }, "psbench: interrupted"},
		{"link", func() { s.link(2, "down") }, "was lost during measured pass: the agent on node2 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{binary, "run", "--ntrainer", "2", "--nserver", "1", "--iterations", "100000000",
				"--rpc-timeout", "4",
				"--hosts", s.write("hosts", "node1\nnode2")}, small...)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := s.from(ctx, "node1", args...)
			said := &lines{}
			cmd.Stdout, cmd.Stderr = said, said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the measured pass has begun",
				func() bool { return strings.Contains(said.String(), "measured pass") })
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			c.fault()
			for _, node := range []string{"node1", "node2"} {
				until(t, "nothing is left on "+node, func() bool { return len(s.pids(node, processes())) == 0 })
			}
			if took := time.Since(began); took > timeout+late {
				t.Errorf("it ended after %v", took)
			}
			if c.name == "link" {
				s.link(2, "up")
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the exit status is 0")
			}
			if !strings.Contains(said.String(), c.want) {
				t.Errorf("it does not say %s:\n%s", c.want, said)
			}
			if c.name != "core" && !strings.Contains(said.String(), "samples per second") {
				t.Errorf("there is no result of what ran:\n%s", said)
			}
			s.clean("node1", "node2")
		})
	}
}

// signal sends a signal to the processes of a node that match a pattern. There must be some.
func (s *shells) signal(name, node, pattern string) {
	s.t.Helper()
	pids := s.pids(node, pattern)
	if len(pids) == 0 {
		s.t.Fatalf("on %s nothing fits %s", node, pattern)
	}
	if out, err := s.on(node, append([]string{"kill", "-" + name}, pids...)...); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}
