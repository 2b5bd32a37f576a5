package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/record/result"
	atbest "github.com/psbench/psbench/internal/comm/limits"
)

// onTwoHosts returns a result whose second trainer ran on another host.
func onTwoHosts() *result.Result {
	r := stamped(2, "ddp")
	r.Processes[0].Host, r.Processes[1].Host = "node1", "node2"
	r.Clocks = []result.HostClock{{Host: "node2",
		Estimate: clocks.Estimate{OffsetNS: 3_600_000_000_000, Drift: 2.5e-6, BoundNS: 150_000}}}
	r.Throughput.SecondsBound, r.StartMS, r.StartBoundMS = 0.00015, 12.5, 0.15
	r.HostLinks = []result.HostLink{{From: "node1", To: "node2",
		Link: atbest.Link{OutGBps: 0.1174, BackGBps: 0.11, RoundTripUS: 212.04}}}
	node := 1
	r.Placement = &placement.Layout{
		Policy: placement.Spread, Affinity: placement.OnNode,
		Hosts: []placement.Host{{Name: "node1", MemoryMiB: 512}, {Name: "node2", GPUs: 2}},
		Processes: []placement.Placed{{Name: "trainer0", Host: 0},
			{Name: "trainer1", Host: 1, Node: &node, CPUs: []int{2, 3}}},
	}
	return r
}

// Times that combine the clocks of two hosts have an error bound, and the straggler has its host's name.
func TestTimesBetweenHosts(t *testing.T) {
	full := text(t, onTwoHosts(), Options{Report: Full})
	for _, want := range []string{
		" s ± 0.15 ms)\n", "12.5 ms until the first iteration ± 0.15 ms", "    straggler wait ± 0.15 ms ",
		"(straggler wait ",
		"times between hosts are exact to ± 0.15 ms: shorter waits count as 0; in ",
		"node2: its clock is 3600.000000 s ahead ± 0.15 ms, and gains 2.5 µs each second\n",
		"placement: servers spread, affinity numa\n", "| trainer1 | node2 |         1 | 2-3  |\n",
		"node1: CPUs unknown; 0.5 GiB\n", "node2: CPUs unknown; 2 GPUs\n",
		"too close to tell\n",
		"link node1 – node2: 0.117 GB/s out, 0.110 GB/s back, round trip 212.0 µs (bare sockets)\n",
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if !strings.Contains(full, want) {
				t.Errorf("there is no %q in\n%s", want, full)
			}
		})
	}
	far := onTwoHosts()
	far.Clocks[0].BoundNS = 1000
	if got := text(t, far, Options{Report: Summary}); !strings.Contains(got, " on node2 ") ||
		strings.Contains(got, "too close") {
		t.Errorf("with better clocks: %s", got)
	}
	if got := text(t, stamped(2, "ddp"), Options{Report: Full}); strings.Contains(got, "±") ||
		strings.Contains(got, " on node") || strings.Contains(got, "placement") {
		t.Errorf("on one host: %s", got)
	}
}
