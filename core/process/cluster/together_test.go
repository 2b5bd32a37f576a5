package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Trainers on a host push as one, except on their server's host. The links match the trainers' groups.
func TestTogether(t *testing.T) {
	server := at("server9", Site{Host: "node0"})
	for _, c := range []struct {
		on        string // one digit per trainer: its host
		aggregate bool
		want      string
		links     string
	}{
		{"0011", true, "[t0] [t1] [t2 t3]", "shm t0-server9, t1-server9, t2-t3; tcp t2-server9"},
		{"0011", false, "[t0] [t1] [t2] [t3]", "shm t0-server9, t1-server9; tcp t2-server9, t3-server9"},
		{"1110", true, "[t0 t1 t2] [t3]", "shm t0-t1, t0-t2, t1-t2, t3-server9; tcp t0-server9"},
		{"0111", true, "[t0] [t1 t2 t3]", "shm t0-server9, t1-t2, t1-t3, t2-t3; tcp t1-server9"},
		{"1120", true, "[t0 t1] [t2] [t3]", "shm t0-t1, t3-server9; tcp t0-server9, t2-server9"},
		{"1212", true, "[t0 t2] [t1 t3]", "shm t0-t2, t1-t3; tcp t0-server9, t1-server9"},
		{"00", true, "[t0] [t1]", "shm t0-server9, t1-server9"},
	} {
		t.Run(c.on, func(t *testing.T) {
			var trainers []*Member
			for i, host := range c.on {
				trainers = append(trainers, at(fmt.Sprint("t", i), Site{Host: "node" + string(host)}))
			}
			lists := Together(server, trainers, c.aggregate)
			var told []string
			for _, list := range lists {
				told = append(told, "["+strings.Join(Names(list), " ")+"]")
			}
			if got := strings.Join(told, " "); got != c.want {
				t.Errorf("on %s, aggregate %v: %s, want %s", c.on, c.aggregate, got, c.want)
			}
			f := fabricOf(t, "shm+tcp")
			joined := NewJoined(f)
			AddTogether(joined, server, lists)
			var links []string
			for _, l := range joined.List() {
				var pairs []string
				for _, p := range l.Pairs {
					pairs = append(pairs, p[0]+"-"+p[1])
				}
				slices.Sort(pairs)
				links = append(links, l.Transport+" "+strings.Join(pairs, ", "))
			}
			if got := strings.Join(links, "; "); got != c.links {
				t.Errorf("on %s, aggregate %v, the links are %s, want %s", c.on, c.aggregate, got, c.links)
			}
			for _, list := range lists {
				for place, m := range list {
					group := TogetherWith(f, lists, m)
					if (group != nil) != (len(list) > 1) ||
						group != nil &&
							(group.Position != place || len(group.Members) != len(list) ||
								group.Members[place].Name != m.Name) {
						t.Errorf("on %s: %s is told of %v", c.on, m.Name, group)
					}
				}
			}
		})
	}
}

// Aggregation is refused on a single host and for plugins that are too old.
func TestCheckTogether(t *testing.T) {
	here, there := at("trainer0", Site{Host: CoreHost}), at("server2", Site{Host: "node1"})
	if err := CheckTogether([]*Member{here, at("server1", Site{Host: CoreHost})}); !errors.Is(err,
		ErrAggregateOnOneHost) {
		t.Errorf("on one host: %v", err)
	}
	for contract, want := range map[string]string{
		"2.4": "",
		"2.3": "trainer0 of plugin mine speaks version 2.3 of psbench's contract with plugins, but aggregate host needs 2.4: build the plugin with the sdk of this psbench",
	} {
		here.Plugin.Name = "mine"
		here.Process, there.Process = &versioned{fake{site: here.Site()},
			contract}, &versioned{fake{site: there.Site()}, "2.4"}
		if err := CheckTogether([]*Member{here, there}); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("of contract %s: %v", contract, err)
		}
	}
}

// versioned is a process with a given version of the contract.
type versioned struct {
	fake
	contract string
}

func (v *versioned) Contract() string { return v.contract }
