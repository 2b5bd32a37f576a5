package micro

import (
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/comm/bench"
)

// hostsOf returns hosts with these names and four cores each.
func hostsOf(names ...string) (hosts []placement.Host) {
	for _, name := range names {
		cores := []machine.CPUs{{0}, {1}, {2}, {3}}
		hosts = append(hosts, placement.Host{Name: name, Nodes: []machine.Node{{Cores: cores}}})
	}
	return hosts
}

// placesOf lists the host of each process: "node1 trainer0, node1 server2, node2 trainer1".
func placesOf(l *placement.Layout) string {
	var places []string
	for _, p := range l.Processes {
		places = append(places, l.Hosts[p.Host].Name+" "+p.Name)
	}
	slices.Sort(places)
	return strings.Join(places, ", ")
}

// The processes of all transports run at the same places. The result records these places.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		trainers, servers int
		policy            placement.Policy
		hosts             []placement.Host
		want              string
	}{
		{2, 1, placement.Spread, hostsOf("node1", "node2"), "node1 server2, node1 trainer0, node2 trainer1"},
		{2, 1, placement.Apart, hostsOf("node1", "node2"), "node1 trainer0, node1 trainer1, node2 server2"},
		{1, 1, placement.Spread, hostsOf("node1", "node2"), "node1 server1, node1 trainer0"},
		{4, 2, placement.Packed, hostsOf("node1", "node2", "node3"),
			"node1 trainer0, node1 trainer1, node2 trainer2, node3 server4, node3 server5, node3 trainer3"},
	} {
		t.Run(string(c.policy), func(t *testing.T) {
			p := planOf(c.trainers, c.servers, bench.PushPull)
			p.ServerPlace = c.policy
			s := newSession(p)
			s.result = &Result{plan: p}
			layout, err := s.place(c.hosts, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := placesOf(s.result.Placement); got != c.want {
				t.Errorf("%d trainers and %d servers, %s: %s, want %s", c.trainers, c.servers, c.policy, got, c.want)
			}
			for _, one := range s.result.Placement.Processes {
				for _, f := range p.Fabrics {
					if placed, ok := layout.Of(one.Name + "." + f.Name); !ok || placed.Host != one.Host {
						t.Errorf("%s of %s runs on host %d, want %d", one.Name, f.Name, placed.Host, one.Host)
					}
				}
			}
			if want := 2 * (c.trainers + c.servers); len(layout.Processes) != want {
				t.Errorf("%d processes are placed, want %d", len(layout.Processes), want)
			}
		})
	}
}

// If all processes run unpinned on the core's host, the result records no places. A server cannot have its own host if
// there is only one.
func TestPlaceOnOneHost(t *testing.T) {
	p := planOf(2, 1, bench.PushPull)
	s := newSession(p)
	s.result = &Result{plan: p}
	if layout, err := s.place(nil, false); err != nil || s.result.Placement != nil || len(layout.Hosts) != 1 {
		t.Errorf("%v, the result has %+v", err, s.result.Placement)
	}
	if _, err := s.place(hostsOf("node1"), true); err != nil || s.result.Placement == nil ||
		s.result.Placement.Hosts[0].Name != "node1" {
		t.Errorf("%v, of a host apart from the core's the result has %+v", err, s.result.Placement)
	}
	p.ServerPlace = placement.Apart
	if _, err := s.place(hostsOf("node1"), false); err == nil ||
		!strings.Contains(err.Error(),
			"servers cannot be on hosts of their own (place is apart): node1 is the only host") {
		t.Errorf("the error is %v", err)
	}
	p.ServerPlace, p.Affinity = placement.Spread, placement.OnCores
	layout, err := s.place(hostsOf("node1"), false)
	if err != nil || len(layout.CPUs("server2.tcp")) != 1 ||
		layout.CPUs("trainer0.tcp").String() == layout.CPUs("trainer1.tcp").String() {
		t.Errorf("%v, the layout is %+v", err, layout)
	}
}

// A part that speaks the protocol runs on the same host as the process that calls it.
func TestPlaceOfParts(t *testing.T) {
	p := planOf(2, 1, bench.PushPull)
	p.Server = config.Part{Key: "mine", Protocol: true, Plugin: registry.Plugin{Name: "mine"}}
	p.ServerPlace = placement.Apart
	s := newSession(p)
	s.result = &Result{plan: p}
	layout, err := s.place(hostsOf("node1", "node2"), false)
	if err != nil {
		t.Fatal(err)
	}
	if part, ok := layout.Of("server2.tcp.part"); !ok || part.Host != 1 {
		t.Errorf("the part runs on host %d", part.Host)
	}
}
