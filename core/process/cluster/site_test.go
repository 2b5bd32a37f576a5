package cluster

import (
	"strings"
	"testing"
)

// The address must belong to this host, unless every site has its own address.
func TestCheckListen(t *testing.T) {
	here, sited := at("trainer0", Site{Host: CoreHost}), at("server1", Site{Host: "node7", Listen: "10.0.0.7"})
	const elsewhere = "listen in c.json has no effect: each host of the run listens on an address of its own, which --interface can choose"
	for name, c := range map[string]struct {
		address      string
		members      []*Member
		warning, err string
	}{
		"one of this host": {"127.0.0.1", []*Member{here}, "", ""},
		"one of another": {"203.0.113.77", []*Member{here}, "",
			"listen in c.json is 203.0.113.77, which is no address of this host: there are "},
		"some sites": {"203.0.113.77", []*Member{sited, here}, "",
			"listen in c.json is 203.0.113.77, which is no address of this host: there are "},
		"all sites": {"203.0.113.77", []*Member{sited}, elsewhere, ""},
	} {
		t.Run(name, func(t *testing.T) {
			warning, err := CheckListen("listen in c.json", c.address, c.members)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if warning != c.warning || !strings.HasPrefix(said, c.err) || (said == "") != (c.err == "") {
				t.Errorf("%s: the warning is %q, the error %q", name, warning, said)
			}
		})
	}
}
