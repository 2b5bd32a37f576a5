package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/record"
)

// placed is a process somewhere.
type placed struct {
	cluster.Process
	site     cluster.Site
	contract string
}

func (p placed) Site() cluster.Site { return p.site }
func (p placed) Contract() string   { return p.contract }

// spread is a run whose processes are at the core, but for those named.
func spread(t *testing.T, transport string, elsewhere map[string]cluster.Site) *run {
	t.Helper()
	r := laidOut(&run{e: experiment(3, 1, registry.Links{Server: true}, sdk.KindHook)})
	var err error
	if r.e.Fabric, err = fabric.Open(transport); err != nil {
		t.Fatal(err)
	}
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
	node := cluster.Site{Host: "node7"}
	for name, c := range map[string]struct {
		transport string
		elsewhere map[string]cluster.Site
		want      string
	}{
		"one host":         {"shm", nil, ""},
		"the data":         {"tcp", map[string]cluster.Site{"data": node}, "data runs on node7 and trainer0 on the core's host, but the batches of data must stay on one host"},
		"a trainer's hook": {"tcp", map[string]cluster.Site{"trainer1.hook": node}, "trainer1 runs on the core's host and trainer1.hook on node7, but a trainer's hook must stay on one host"},
		"a server":         {"unix", map[string]cluster.Site{"server3": node}, "trainer0 runs on the core's host and server3 on node7, but what unix joins must stay on one host"},
		"over TCP":         {"tcp", map[string]cluster.Site{"server3": node}, ""},
		"clocks":           {"shm", map[string]cluster.Site{"server3": {Host: cluster.CoreHost, Clock: time.Second}}, "the clock of server3 is 1s ahead of that of trainer0, but what shm joins needs one clock"},
		"clocks over TCP":  {"tcp", map[string]cluster.Site{"server3": {Host: cluster.CoreHost, Clock: time.Second}}, ""},
	} {
		got := ""
		if err := spread(t, c.transport, c.elsewhere).checkSites(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The memory of a host is compared with what its processes take, and no others.
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

// Whatever clock a process has, what it recorded is on the core's.
func TestStampsAreOnTheCoresClock(t *testing.T) {
	site := cluster.Site{Clock: time.Hour}
	at := func(ns int64) int64 { return int64(time.Hour) + ns }
	pieces := []record.Piece{
		&record.Work{StartNS: at(5), EndNS: at(9), EvaluatedNS: 2, Samples: 3},
		&record.Series{Measurements: packedOf(packed.Measurement{StartNS: at(6), DurationNS: 1}, packed.Measurement{StartNS: at(7), DurationNS: 1})},
		&record.Work{},
		record.Losses{1},
	}
	for _, piece := range pieces {
		onCoreClock(site, piece)
	}
	want := []record.Piece{
		&record.Work{StartNS: 5, EndNS: 9, EvaluatedNS: 2, Samples: 3},
		&record.Series{Measurements: packedOf(packed.Measurement{StartNS: 6, DurationNS: 1}, packed.Measurement{StartNS: 7, DurationNS: 1})},
		&record.Work{},
		record.Losses{1},
	}
	unpacked := cmp.Transformer("unpacked", func(c packed.Chunk[packed.Measurement]) []packed.Measurement { return slices.Collect(c.All()) })
	if d := cmp.Diff(want, pieces, unpacked); d != "" {
		t.Error(d)
	}
}

// packedOf is a chunk of these measurements.
func packedOf(measurements ...packed.Measurement) packed.Chunk[packed.Measurement] {
	var l packed.List[packed.Measurement]
	for _, m := range measurements {
		l.Add(m)
	}
	return l.Chunks()[0]
}
