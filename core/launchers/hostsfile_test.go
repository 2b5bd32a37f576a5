package launchers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHosts(t *testing.T) {
	got, err := ParseHosts("# rack 1\n\nnode1  slots=4\r\n\tnode-2.example.org psbench=/opt/psbench\n10.0.0.3\nfd00::3 slots=2 psbench=/b")
	want := []Host{{"node1", ""}, {"node-2.example.org", "/opt/psbench"}, {"10.0.0.3", ""}, {"fd00::3", "/b"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"":                       "1: there is no host",
		"# nobody\n\n":           "2: there is no host",
		"a\nb slots=0":           `2: "slots=0" follows the host but only psbench=/PATH may, and slots=N from 1 to 1024`,
		"a slots=1025":           `1: "slots=1025" follows`,
		"a 4":                    `1: "4" follows`,
		"a slots=4 slots=5":      `1: "slots" is given twice`,
		"a slots=+4":             `1: "slots=+4" follows`,
		"a psbench=bin/psbench":  `1: "psbench=bin/psbench" follows`,
		"a\n\na slots=2":         "3: a is in line 1 already",
		"-oProxyCommand=reboot":  `1: "-oProxyCommand=reboot" is no name and no address of a host`,
		"user@node1":             `1: "user@node1" is no name`,
		"no\x00de":               `1: "no\x00de" is no name`,
		strings.Repeat("a", 254): "is no name and no address of a host",
		numbered(mostHosts + 1):  "16385: there are more than 16384 hosts",
	} {
		if _, err := ParseHosts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gives %v, which does not say %s", text, err, want)
		}
	}
}

// This host may be in the file under its own name or another one, but once.
func TestThisHostInAFile(t *testing.T) {
	s := System{Host: "node2", HostsFile: "hosts.txt", IsHere: func(name string) bool { return name == "10.0.0.2" }}
	for text, want := range map[string]Place{
		"node1\nnode2\nnode3":     {Size: 3, Others: []Host{{Name: "node1"}, {Name: "node3"}}},
		"10.0.0.2\nnode1":         {Size: 2, Others: []Host{{Name: "node1"}}},
		"node1 psbench=/p\nnode3": {Size: 3, Others: []Host{{"node1", "/p"}, {Name: "node3"}}, Apart: true},
		"node2":                   {Size: 1},
	} {
		s.ReadFile = func(string) ([]byte, error) { return []byte(text), nil }
		f := Look(s)
		want.Host, want.From.Size = "node2", "hosts.txt"
		if diff := cmp.Diff(want, f.Place); diff != "" || f.Err != nil || f.Launcher != HostsFile {
			t.Errorf("%q: %s, %v, by %s", text, diff, f.Err, f.Launcher)
		}
	}
	s.ReadFile = func(string) ([]byte, error) { return []byte("node2\n10.0.0.2"), nil }
	if err := Look(s).Err; err == nil || !strings.Contains(err.Error(), "hosts.txt: node2 and 10.0.0.2 both are this host, node2: leave one out") {
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

// What is read is written and read again as it was.
func FuzzParseHosts(f *testing.F) {
	f.Add("node1 slots=4\nnode2 psbench=/opt/psbench\n# node3\n")
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
