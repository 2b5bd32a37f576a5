package run

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
)

// placed is a process at a given site.
type placed struct {
	cluster.Process
	site     cluster.Site
	contract string
}

func (p placed) Site() cluster.Site { return p.site }
func (p placed) Contract() string   { return p.contract }

// spread returns a run whose processes run at the core, except those in elsewhere.
func spread(t *testing.T, transport string, elsewhere map[string]cluster.Site) *run {
	t.Helper()
	r := laidOut(&run{e: experiment(3, 1, registry.Links{Server: true}, sdk.KindHook)})
	var err error
	if r.e.Fabric, err = fabric.Open(transport); err != nil {
		t.Fatal(err)
	}
	r.e.Values = []result.Value{{Key: "transport", Origin: "flag --transport"}}
	r.result = newResult(r.e, Options{})
	for _, p := range r.processes.all {
		site, ok := elsewhere[p.Name]
		if !ok {
			site.Host = cluster.CoreHost
		}
		p.Process = placed{site: site}
	}
	return r
}

func TestCheckSites(t *testing.T) {
	node, ahead := cluster.Site{Host: "node7"}, clocks.Known(clocks.Of(time.Second))
	for name, c := range map[string]struct {
		transport string
		elsewhere map[string]cluster.Site
		want      string
	}{
		"one host": {"shm", nil, ""},
		"the data": {"unix", map[string]cluster.Site{"data": node},
			"data runs on node7 and trainer0 on the core's host, but transport unix (flag --transport) reaches no other host: leave it out, or give tcp"},
		"a trainer's hook": {"tcp", map[string]cluster.Site{"trainer1.hook": node},
			"trainer1 runs on the core's host and trainer1.hook on node7, but a trainer's hook must stay on one host"},
		"a server": {"unix", map[string]cluster.Site{"server3": node},
			"trainer0 runs on the core's host and server3 on node7, but transport unix (flag --transport) reaches no other host: leave it out, or give tcp"},
		"data over TCP": {"tcp", map[string]cluster.Site{"data": node}, ""},
		"by host": {"shm+tcp", map[string]cluster.Site{"server3": node, "data": {Host: "node8", Clock: ahead}},
			""},
		"over TCP": {"tcp", map[string]cluster.Site{"server3": node}, ""},
		"clocks": {"shm", map[string]cluster.Site{"server3": {Host: cluster.CoreHost, Clock: ahead}},
			"the clock of server3 is 1s ahead of the clock of trainer0, but what shm joins needs one clock"},
		"clocks over TCP": {"tcp", map[string]cluster.Site{"server3": {Host: cluster.CoreHost, Clock: ahead}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := spread(t, c.transport, c.elsewhere).checkSites(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

// The memory of a host must suffice for the processes on that host. Processes on other hosts do not count.
func TestReserveCountsByHost(t *testing.T) {
	r := spread(t, "shm", map[string]cluster.Site{"trainer1": {Host: "node7"}})
	r.result.Buckets = []tensor.BucketSpec{{Elements: 1 << 50}}
	if err := r.reserve(); err == nil || !strings.Contains(err.Error(), "the buckets of trainer0 and trainer2") {
		t.Errorf("the error is %v", err)
	}
	for _, p := range r.processes.trainers {
		p.Process = placed{site: cluster.Site{Host: "node7"}}
	}
	if err := r.reserve(); err != nil {
		t.Errorf("memory of another host is counted: %v", err)
	}
}

// All recorded time stamps are converted from the process's clock to the core's clock.
func TestStampsAreOnTheCoresClock(t *testing.T) {
	const second = int64(time.Second)
	for name, e := range map[string]clocks.Estimate{
		"the core's":     {},
		"ahead":          clocks.Of(time.Hour),
		"drifting apart": {AtNS: 100 * second, OffsetNS: int64(time.Minute), Drift: 1e-5, BoundNS: 7},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(ns int64) int64 { // reading of the other clock when the core's clock reads ns
				return int64(math.Round((float64(ns+e.OffsetNS) - e.Drift*float64(e.AtNS)) / (1 - e.Drift)))
			}
			p := &process{Member: &cluster.Member{Process: placed{site: cluster.Site{Clock: clocks.Known(e)}}}}
			p.collected.pieces = []record.Piece{&record.Series{Type: "a", Name: "b", Measurements: packedOf(
				packed.Measurement{A: 1, B: 2, StartNS: at(6 * second), DurationNS: 9},
				packed.Measurement{A: 1, B: 3, StartNS: at(9000 * second), DurationNS: 8},
			)}}
			var res result.Result
			addNumbers(&res, p)
			want := []sdk.Measurement{{Key: sdk.Key{A: 1, B: 2}, StartNS: 6 * second, DurationNS: 9},
				{Key: sdk.Key{A: 1, B: 3}, StartNS: 9000 * second, DurationNS: 8}}
			near := cmp.Comparer(func(a, b int64) bool { return max(a-b, b-a) <= 1 }) // conversions may round
			if d := cmp.Diff(want, slices.Collect(res.SeriesOf(0, "a", "b").All()), near); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			works := addWork(nil, p,
				record.Work{StartNS: at(5 * second), EndNS: at(900 * second), EvaluatedNS: 20, Samples: 30},
				record.Measured)
			works = addWork(works, p, record.Work{}, record.Measured)
			works = addWork(works, p, record.Work{StartNS: at(5 * second)}, record.WarmUp)
			wanted := []result.Work{{StartNS: 5 * second, EndNS: 900 * second, EvaluatedNS: 20, Samples: 30},
				{StartNS: 5 * second, WarmUp: true}}
			if d := cmp.Diff(wanted, works, near); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

// packedOf returns a chunk of these measurements.
func packedOf(measurements ...packed.Measurement) packed.Chunk[packed.Measurement] {
	var l packed.List[packed.Measurement]
	for _, m := range measurements {
		l.Add(m)
	}
	return l.Chunks()[0]
}
