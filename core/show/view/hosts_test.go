package view

import (
	"reflect"
	"testing"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/limits"
)

func TestHosts(t *testing.T) {
	device, node := 1, 0
	r := &result.Result{
		Placement: &placement.Layout{
			Hosts: []placement.Host{{Name: "a"}, {Name: "b", MemoryMiB: 1536, GPUs: 2}},
			Processes: []placement.Placed{
				{Name: "trainer0", Host: 0},
				{Name: "server1", Host: 1, Device: &device, Node: &node, CPUs: machine.CPUs{0, 1, 5}},
			},
		},
		Processes: []result.Process{{Name: "trainer0", Rank: 0, Host: "a"}, {Name: "server1", Rank: 1, Host: "b"}},
		Clocks: []result.HostClock{{Host: "b",
			Estimate: clocks.Estimate{OffsetNS: 2_000_000, BoundNS: 50_000, Drift: 3e-6}}},
		Links: []result.Links{{Transport: "tcp", Pairs: [][2]string{{"trainer0", "server1"}}}},
		HostLinks: []result.HostLink{{From: "a", To: "b",
			Link: limits.Link{OutGBps: 1.2, BackGBps: 1.1, RoundTripUS: 80}}},
	}
	want := &Hosts{
		List: []Host{
			{"a", "CPUs unknown", "the clock of all times"},
			{"b", "CPUs unknown; 1.5 GiB; 2 GPUs", "0.002000 s ahead ± 0.05 ms, gains 3 µs each second"},
		},
		ApartMS:    0.05,
		Transports: []Fact{{"tcp", "trainer0-server1"}},
		Links:      []HostLink{{"a", "b", 1.2, 1.1, 80}},
	}
	if got := hostsOf(r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for name, want := range map[string]string{"trainer0": "a", "server1": "b, cuda:1, NUMA node 0, CPUs 0-1,5",
		"hook2": ""} {
		t.Run(name, func(t *testing.T) {
			if got := whereOf(r.Placement, name); got != want {
				t.Errorf("%s ran on %q, want %q", name, got, want)
			}
		})
	}

	r.Placement.Hosts = r.Placement.Hosts[:1]
	if got := hostsOf(r); got != nil {
		t.Errorf("one host: %+v", got)
	}
	if got := whereOf(nil, "trainer0"); got != "" {
		t.Errorf("without a placement: %q", got)
	}
}
