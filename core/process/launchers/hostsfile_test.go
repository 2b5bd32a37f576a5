package launchers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHosts(t *testing.T) {
	got, err := ParseHosts(
		"# rack 1\n\nnode1  slots=4\r\n\tnode-2.example.org psbench=/opt/psbench\n10.0.0.3\nfd00::3 slots=2 psbench=/b")
	want := []Host{{Name: "node1"}, {Name: "node-2.example.org", Program: "/opt/psbench"}, {Name: "10.0.0.3"},
		{Name: "fd00::3", Program: "/b"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"":                       "1: there is no host",
		"# nobody\n\n":           "2: there is no host",
		"a\nb slots=0":           `2: "slots=0" follows the host but only psbench=/PATH, user=NAME and slots=N from 1 to 1024 may; hosts have a line each, or commas between`,
		"a slots=1025":           `1: "slots=1025" follows`,
		"a 4":                    `1: "4" follows`,
		"a slots=4 slots=5":      `1: "slots" is given twice`,
		"a slots=+4":             `1: "slots=+4" follows`,
		"a psbench=bin/psbench":  `1: "psbench=bin/psbench" follows`,
		"a\nb\na psbench=/b":     "3: a is in line 1 already, with another user or psbench=",
		"10.0.0.3 node3":         `1: "node3" follows the host`,
		"a:4:mlx5_0":             `1: "a:4:mlx5_0" has "4:mlx5_0" after the colon, but only a count of slots`,
		"a:2222":                 `only a count of slots from 1 to 1024 may stand there; ports are those of ~/.ssh/config`,
		"a:2 slots=4":            "1: a has two counts of slots, 2 and 4",
		"a:":                     `1: "a:" is no name`,
		"u@a user=w":             "1: a has two users, u and w",
		"@a":                     `1: "@a" is no name`,
		"u@":                     `1: "u@" is no name`,
		"-u@a":                   `1: "-u@a" is no name`,
		"node[1-":                `1: "node[1-" is not a list of hosts in Slurm's form, such as node[01-03,7]`,
		"node[3-1]":              `"node[3-1]" is not a list`,
		"node[a-b]":              `"node[a-b]" is not a list`,
		"node[]":                 `"node[]" is not a list`,
		"node[0-4294967295]":     `is not a list`,
		"[servers]":              `1: "[servers]" is not a list of hosts`,
		"[fd00::3":               `"[fd00::3" is not a list`,
		"[fd00::3]4":             `"[fd00::3]4" is no name`,
		"^node1":                 `"^node1" is no name`,
		"\xff\xfea\x00":          "1: the file is text in UTF-16: save it in UTF-8",
		"-oProxyCommand=reboot":  `1: "-oProxyCommand=reboot" is no name and no address of a host`,
		"no\x00de":               `1: "no\x00de" is no name`,
		strings.Repeat("a", 254): "is no name and no address of a host",
		numbered(mostHosts + 1):  "16385: there are more than 16384 hosts",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseHosts(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q gives %v, which does not say %s", text, err, want)
			}
		})
	}
}

// ParseHosts parses the hosts files that launchers write.
func TestHostsOfLaunchers(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		slots      int
	}{
		"Open MPI": {
			"# cluster\nnode1 slots=4 max_slots=8\nnode2 slots = 4 max-slots=8 # the second\nu@node3\n",
			"node1 node2 u@node3", 9,
		},
		"Open MPI, a line per slot": {"node1\nnode1\nnode2\nnode1\n", "node1 node2", 4},
		"MPICH":                     {"node1:2\nnode2:4 ifname=eth1\nnode3 user=u\n", "node1 node2 u@node3", 7},
		"Horovod":                   {"host1:2,host2:2", "host1 host2", 4},
		"with spaces":               {"host1:2, host2:2 ,host3,\n", "host1 host2 host3", 5},
		"DeepSpeed":                 {"worker-1 slots=4\r\nworker-2 slots=4\r\n", "worker-1 worker-2", 8},
		"Slurm": {"node[01-03,7],login,gpu[9-11]-ib",
			"node01 node02 node03 node7 login gpu9-ib gpu10-ib gpu11-ib", 8},
		"Slurm, two ranges": {"r[1-2]n[08-09]", "r1n08 r1n09 r2n08 r2n09", 4},
		"Slurm, with slots": {"node[1-2] slots=4", "node1 node2", 8},
		"PBS":               {"n1.cluster\nn1.cluster\nn2.cluster\nn2.cluster\n", "n1.cluster n2.cluster", 4},
		"Grid Engine":       {"node1 4 all.q@node1 UNDEFINED\nnode2 4 all.q@node2 <NULL>\n", "node1 node2", 8},
		"addresses": {"\ufefffd00::3\n[fd00::4]:2\n[fd00::5]\n10.0.0.1:3\t\n",
			"fd00::3 fd00::4 fd00::5 10.0.0.1", 7},
	} {
		t.Run(name, func(t *testing.T) {
			hosts, slots, err := parseHosts(c.text)
			var got []string
			for _, h := range hosts {
				got = append(got, h.String())
			}
			if strings.Join(got, " ") != c.want || slots != c.slots || err != nil {
				t.Errorf("%s: %q, %d slots, %v, want %q, %d", name, got, slots, err, c.want, c.slots)
			}
		})
	}
}

// The file may contain this host under its own or another name, but only once.
func TestThisHostInAFile(t *testing.T) {
	s := System{Host: "node2", HostsFile: "hosts.txt", IsHere: func(name string) bool { return name == "10.0.0.2" }}
	for text, want := range map[string]Place{
		"node1\nnode2\nnode3": {Size: 3, Others: []Host{{Name: "node1"}, {Name: "node3"}}},
		"10.0.0.2\nnode1":     {Size: 2, Others: []Host{{Name: "node1"}}},
		"node1 psbench=/p\nnode3": {Size: 3, Others: []Host{{Name: "node1", Program: "/p"}, {Name: "node3"}},
			Apart: true},
		"node2": {Size: 1},
	} {
		s.ReadFile = func(string) ([]byte, error) { return []byte(text), nil }
		f := Look(s)
		want.Host, want.From.Size = "node2", "hosts.txt"
		if diff := cmp.Diff(want, f.Place); diff != "" || f.Err != nil || f.Launcher != HostsFile {
			t.Errorf("%q: %s, %v, by %s", text, diff, f.Err, f.Launcher)
		}
	}
	s.ReadFile = func(string) ([]byte, error) { return []byte("node2\n10.0.0.2"), nil }
	if err := Look(s).Err; err == nil ||
		!strings.Contains(err.Error(), "hosts.txt: node2 and 10.0.0.2 both are this host, node2: leave one out") {
		t.Error(err)
	}
}

func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "node%d\n", i)
	}
	return text.String()
}

// Formatting a parsed hosts file and parsing it again gives the same hosts.
func FuzzParseHosts(f *testing.F) {
	f.Add("node1 slots=4\nnode2 psbench=/opt/psbench\n# node3\n")
	f.Add("u@node[01-03,7]-ib:2, [fd00::3]:4 max_slots = 8 # all")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ParseHosts(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, h := range hosts {
			again.WriteString(h.String() + "\n")
		}
		back, err := ParseHosts(again.String())
		if diff := cmp.Diff(hosts, back); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}
