package comm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/limits"
	"github.com/psbench/psbench/internal/golden"
)

// rowOf returns a valid row of an operation with two trainers. The parameter scale is the fastest round of the first
// turn, in µs.
func rowOf(o *bench.Operation, transport string, place micro.Place, size int) *micro.Row {
	scale := float64(1 + size>>12)
	r := &micro.Row{
		Operation: o.Name, Transport: transport, Mapped: transport == "shm", Trainers: 2,
		Mode: micro.Fresh, Place: place, Bytes: size,
		Rounds: 6, P50US: 3 * scale, P95US: 6 * scale, MinUS: scale, Verified: micro.EveryRound,
	}
	if r.AlgbwGBps = float64(size) / r.P50US / 1e3; o == bench.PushPull {
		r.AlgbwGBps *= 2
		r.Server, r.Servers = "average", 1
	}
	if r.BusbwGBps = r.AlgbwGBps; o == bench.PushPull {
		r.BusbwGBps *= 2
	}
	if o.Empty {
		r.Verified = micro.NoRound
	}
	return r
}

// example returns a result that has a void row and a row without limits.
func example() *micro.Result {
	r := &micro.Result{
		Schema: micro.Schema, Complete: true, Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Command: []string{"psbench", "comm"},
		Environment: result.Environment{
			Psbench: "v1", Commit: "a3139f6", Go: "go1", OS: "linux", Arch: "amd64", Kernel: "6.1",
			CPU: "cpu", Cores: 2, MemoryMiB: 4096,
		},
	}
	for _, o := range []*bench.Operation{bench.PushPull, bench.AllReduce, bench.Broadcast} {
		for _, place := range []micro.Place{micro.InPlace, micro.Copied} {
			for _, size := range []int{4096, 1 << 20} {
				for _, transport := range []string{"shm", "tcp"} {
					r.Rows = append(r.Rows, rowOf(o, transport, place, size))
				}
			}
		}
	}
	r.Rows = append(r.Rows, rowOf(bench.Barrier, "shm", micro.InPlace, 0))
	r.Rows[3].Mismatch, r.Rows[3].Verified = "element 17 of round 3 on trainer1 is 5.5 instead of 5", micro.NoRound
	return r
}

// written returns r as text in the form that o selects.
func written(t *testing.T, r *micro.Result, o report.Options) string {
	t.Helper()
	var out strings.Builder
	if err := Text(&out, r, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestText(t *testing.T) {
	r := example()
	for _, row := range r.Rows {
		if row.Bytes > 4096 && !row.Void() {
			row.Share, row.ShareOf = 0.625, "something"
		}
	}
	r.Limits = []micro.Limit{
		{Name: "memcpy", Bytes: 2 << 20, Cores: 2, GBps: 12.5},
		{Name: "loopback TCP, both ways", Connections: 2, GBps: 3.25},
	}
	r.Complete, r.Error = false, "server2 died"
	for file, form := range map[string]string{
		"comm": report.Full, "table": report.Table, "summary": report.Summary,
	} {
		t.Run(file, func(t *testing.T) {
			golden.Require(t, "testdata/"+file+".txt", written(t, r, report.Options{Report: form}))
		})
	}
	r.Limits, r.Rows = nil, r.Rows[:5]
	for _, row := range r.Rows {
		row.Sparse, row.Width, row.Density = true, 128, 0.5
	}
	golden.Require(t, "testdata/sparse.txt", written(t, r, report.Options{Report: report.Full}))
}

func TestTextFits(t *testing.T) {
	r := example()
	for _, row := range r.Rows {
		row.P50US, row.P95US, row.AlgbwGBps, row.Share = 123456.78, 1234567.89, 123.45, 1.25
	}
	for _, width := range []int{60, 80, 100, 160} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			for line := range strings.Lines(written(t, r, report.Options{Report: report.Full, Width: width})) {
				if n := len([]rune(line)) - 1; n > width {
					t.Errorf("a line has %d columns on a screen of %d: %s", n, width, line)
				}
			}
		})
	}
}

// Each table has a line below it that states which rows were verified. A barrier moves no data, so its table has no
// such line.
func TestTextSaysWhatWasVerified(t *testing.T) {
	const anything = "--expect is any"
	for _, c := range []struct {
		name        string
		fresh, warm micro.Verified
		unchecked   string
		want        string
	}{
		{
			"mean", micro.EveryRound, micro.LeadIn, "",
			"fresh rows in every round, warm rows in the fresh round before each turn alone",
		},
		{
			"any", micro.NoRound, micro.NoRound, anything,
			"fresh rows not at all (--expect is any), warm rows not at all (--expect is any)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &micro.Result{Complete: true}
			for _, o := range []*bench.Operation{bench.PushPull, bench.AllReduce, bench.Broadcast, bench.Barrier} {
				fresh := rowOf(o, "shm", micro.InPlace, 4096)
				if o.Empty {
					fresh = rowOf(o, "shm", micro.InPlace, 0)
				}
				warm := new(*fresh)
				warm.Mode = micro.Warm
				if !o.Empty {
					fresh.Verified, warm.Verified = c.fresh, c.warm
					fresh.Unchecked, warm.Unchecked = c.unchecked, c.unchecked
				}
				r.Rows = append(r.Rows, fresh, warm)
			}
			text := written(t, r, report.Options{Report: report.Full})
			if strings.Count(text, "\nverified: "+c.want+"\n") != 3 || strings.Count(text, "\nverified: ") != 3 {
				t.Errorf("%q does not stand below push-pull and collectives, but for the barrier:\n%s", c.want, text)
			}
		})
	}
}

// The heading names the hosts between which the rows were measured.
func TestHostsAreShown(t *testing.T) {
	r := example()
	var hosts []placement.Host
	for _, name := range []string{"node1", "node2"} {
		cores := []machine.CPUs{{0}, {1}, {2}, {3}}
		hosts = append(hosts, placement.Host{Name: name, Nodes: []machine.Node{{Cores: cores}}})
	}
	trainers := []placement.Process{
		{Name: "trainer0", Kind: placement.Trainer}, {Name: "trainer1", Kind: placement.Trainer},
	}
	layout, err := placement.Lay(hosts, trainers, placement.Spread, placement.Anywhere)
	if err != nil {
		t.Fatal(err)
	}
	r.Placement = layout
	r.HostLinks = []result.HostLink{
		{From: "node1", To: "node2", Link: limits.Link{OutGBps: 1.25, BackGBps: 1.24, RoundTripUS: 31}},
	}
	const where = "\nhosts: node1 trainer0; node2 trainer1\n"
	const link = "\nlink node1 – node2: 1.250 GB/s out, 1.240 GB/s back, round trip 31.0 µs (bare sockets)\n"
	for form, want := range map[string]bool{
		report.Table: true, report.Full: true, report.Summary: false,
	} {
		t.Run(form, func(t *testing.T) {
			text := written(t, r, report.Options{Report: form})
			if got := strings.Contains(text, where) && strings.Contains(text, link); got != want {
				t.Errorf("it shows them: %v\n%s", got, text)
			}
			placed := strings.Contains(text, "placement: servers spread, affinity none")
			if placed != (form == report.Full) {
				t.Errorf("it shows the placement: %v", placed)
			}
		})
	}
}
