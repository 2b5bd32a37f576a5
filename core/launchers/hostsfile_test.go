package launchers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHosts(t *testing.T) {
	got, err := ParseHosts("# rack 1\n\nnode1  slots=4\r\n\tnode-2.example.org\n10.0.0.3\nfd00::3 slots=2")
	want := []Host{{"node1", 4}, {"node-2.example.org", 1}, {"10.0.0.3", 1}, {"fd00::3", 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"":                       "1: there is no host",
		"# nobody\n\n":           "2: there is no host",
		"a\nb slots=0":           `2: "slots=0" follows the host but only slots=N may, from 1 to 1024`,
		"a slots=1025":           `1: "slots=1025" follows`,
		"a 4":                    `1: "4" follows`,
		"a slots=4 slots=5":      `1: "slots=4 slots=5" follows`,
		"a slots=+4":             `1: "slots=+4" follows`,
		"a\n\na slots=2":         "3: a is in line 1 already: give it slots there",
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

func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "node%d\n", i)
	}
	return text.String()
}

// What is read is written and read again as it was.
func FuzzParseHosts(f *testing.F) {
	f.Add("node1 slots=4\nnode2\n# node3\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ParseHosts(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, h := range hosts {
			fmt.Fprintf(&again, "%s slots=%d\n", h.Name, h.Slots)
		}
		back, err := ParseHosts(again.String())
		if diff := cmp.Diff(hosts, back); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}
