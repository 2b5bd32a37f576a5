package micro

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/limits"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/sdk/proto"
)

// latencies returns a turn of two ranks with the same latencies.
func latencies(t *testing.T, mismatch string, us ...float64) *turn {
	t.Helper()
	var ranks []timings
	for rank := range 2 {
		reply := &proto.MeasureReply{}
		for _, l := range us {
			reply.LatencyNs = append(reply.LatencyNs, int64(1e3*l))
		}
		if rank == 1 {
			reply.Mismatch = mismatch
		}
		ranks = append(ranks, timingsOf(reply))
	}
	got, err := newTurn(len(us), ranks)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// example returns a result with a void row and a row without limits.
func example(t *testing.T) *Result {
	t.Helper()
	p := planOf(2, 1, measured...)
	r := &Result{
		Schema: Schema, Complete: true, Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Command: []string{"psbench", "comm"},
		Environment: result.Environment{Psbench: "v1", Commit: "a3139f6", Go: "go1", OS: "linux", Arch: "amd64",
			Kernel: "6.1", CPU: "cpu", Cores: 2, MemoryMiB: 4096},
		Limits: []Limit{}, Rows: []*Row{}, plan: p,
	}
	for i, c := range p.cells() {
		for _, transport := range p.Fabrics {
			row := p.newRow(c, transport)
			if c.mode == Warm || c.operation == bench.Barrier && !transport.Maps() {
				continue
			}
			mismatch := ""
			if i == 1 && !transport.Maps() {
				mismatch = "element 17 of round 3 on trainer1 is 5.5 instead of 5"
			}
			scale := float64(1 + c.size>>12)
			row.add(latencies(t, "", scale, 2*scale, 3*scale))
			row.add(latencies(t, mismatch, 4*scale, 5*scale, 6*scale))
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

func TestRowSummary(t *testing.T) {
	row := planOf(2, 1, bench.PushPull).newRow(cell{bench.PushPull, Fresh, InPlace, 0, 4096}, fabricsOf("shm")[0])
	row.add(latencies(t, "", 1, 2, 3))
	row.add(latencies(t, "", 4, 5, 6.5))
	if row.Rounds != 6 || row.P50US != 3 || row.MinUS != 1 || row.P95US != 6.5 || row.Verified != EveryRound {
		t.Errorf("the row is %+v", row)
	}
	if d := cmp.Diff([][]float64{{1, 2, 3, 1, 2, 3}, {4, 5, 6.5, 4, 5, 6.5}}, row.LatenciesUS); d != "" {
		t.Error(d)
	}
	if row.AlgbwGBps != 2*4096/3e3 || row.BusbwGBps != 4*4096/3e3 {
		t.Errorf("algbw is %v, busbw %v", row.AlgbwGBps, row.BusbwGBps)
	}
	row.add(latencies(t, "wrong", 1))
	row.add(latencies(t, "later", 1))
	if row.Verified != NoRound || row.Mismatch != "wrong" || !row.Void() {
		t.Errorf("after a mismatch the row is %+v", row)
	}
}

func TestVerifiedIsWhatWasCompared(t *testing.T) {
	p := planOf(2, 1, measured...)
	p.Fabrics, p.Places, p.Sizes, p.Modes = fabricsOf("shm"), []Place{InPlace}, []int{4096}, []Mode{Fresh, Warm}
	for expect, want := range map[Expect][]Verified{ // for fresh and warm rounds, by operation
		Mean: {EveryRound, LeadIn, EveryRound, LeadIn, EveryRound, LeadIn, NoRound, NoRound},
		Any:  {NoRound, NoRound, EveryRound, LeadIn, EveryRound, LeadIn, NoRound, NoRound},
	} {
		p.Expect = expect
		r := &Result{Complete: true, plan: p}
		var got []Verified
		for _, c := range p.cells() {
			row := p.newRow(c, fabricsOf("shm")[0])
			row.add(latencies(t, "", 1))
			r.Rows, got = append(r.Rows, row), append(got, row.Verified)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("--expect %s: %s", expect, d)
		}
		var lines []Verified // as in the lines of the benchmark format
		verified := Verified("")
		for line := range strings.Lines(written(t, GoBench, r)) {
			if text, ok := strings.CutPrefix(line, "verified: "); ok {
				verified = Verified(strings.TrimSpace(text))
			} else if strings.HasPrefix(line, "Benchmark") {
				lines = append(lines, verified)
			}
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Errorf("--expect %s, benchmark lines: %s", expect, d)
		}
	}
}

func TestMissingRounds(t *testing.T) {
	if _, err := newTurn(3, []timings{{latenciesUS: []float64{1, 2, 3}}, {latenciesUS: []float64{1}}}); err == nil ||
		err.Error() != "trainer1 measured 1 rounds instead of 3" {
		t.Errorf("the error is %v", err)
	}
}

func TestVoided(t *testing.T) {
	r := example(t)
	if err := r.voided(); err == nil ||
		err.Error() != "1 of 25 rows are void: element 17 of round 3 on trainer1 is 5.5 instead of 5" {
		t.Errorf("the error is %v", err)
	}
	for _, row := range r.Rows {
		row.Mismatch = ""
	}
	if err := r.voided(); err != nil {
		t.Error(err)
	}
}

func TestShares(t *testing.T) {
	cores := limits.Cores()
	p := planOf(2, 1, bench.PushPull)
	p.Sizes = []int{1 << 20}
	r := &Result{plan: p, Rows: []*Row{
		{Transport: "shm", Mapped: true, Bytes: 1 << 20, P50US: 100, MovedBytes: 4e6, AlgbwGBps: 20},
		{Operation: bench.PushPull.Name, Transport: "tcp", Bytes: 1 << 20, P50US: 2097.152, MovedBytes: 4e6,
			volume: bench.Volume{Received: 4 << 20}},
		{Transport: "shm", Mapped: true, Bytes: 1 << 20, P50US: 100, AlgbwGBps: 20},
	}}
	samples := limitSamples{}
	for _, l := range p.limits() {
		switch {
		case l.Name == tcpBothWays:
			samples[l] = []float64{4, 6}
		case l.Name == memcpyDirty && l.Cores == cores, cores == 1:
			samples[l] = []float64{50, 30}
		default:
			samples[l] = []float64{1e9}
		}
	}
	r.addLimits(samples)
	// 4 MB in 100 µs are 40 GB/s, half of the 80 GB/s that memcpy reads and writes.
	if row := r.Rows[0]; row.Share != 0.5 || !strings.HasPrefix(row.ShareOf, "memcpy") ||
		!strings.Contains(row.ShareOf, ", 2MiB, ") {
		t.Errorf("shm reaches %v of %s", row.Share, row.ShareOf)
	}
	// Both trainers push and pull 1 MiB in 2.1 ms. That is 2 GB/s, of the sockets' 5 GB/s.
	if row := r.Rows[1]; math.Abs(row.Share-0.4) > 1e-9 || row.ShareOf != tcpBothWays {
		t.Errorf("tcp reaches %v of %s", row.Share, row.ShareOf)
	}
	if row := r.Rows[2]; row.Share != 0 || row.ShareOf != "" {
		t.Errorf("what moves nothing reaches %v of %s", row.Share, row.ShareOf)
	}
	if len(r.Limits) != len(p.limits()) {
		t.Errorf("%d of %d limits are kept", len(r.Limits), len(p.limits()))
	}
}

// Small buckets of different sizes may have the same footprint, which is then measured only once.
func TestLimitsAreDistinct(t *testing.T) {
	p := planOf(1, 1, bench.PushPull)
	p.Sizes = []int{4, 8, 12, 1 << 20}
	seen := map[Limit]bool{}
	for _, l := range p.limits() {
		if seen[l] {
			t.Errorf("%s is measured twice", l)
		}
		seen[l] = true
	}
}

func TestGoBench(t *testing.T) {
	r := example(t)
	compare(t, "testdata/comm.bench", GoBench, r)
	// A line consists of a name, a count, and pairs of values and units.
	line := regexp.MustCompile(`^Benchmark\S+ [0-9]+( [0-9.]+ \S+)+$`)
	var out bytes.Buffer
	if err := GoBench(&out, r); err != nil {
		t.Fatal(err)
	}
	count := 0
	for text := range strings.Lines(out.String()) {
		if strings.HasPrefix(text, "Benchmark") {
			count++
			if !line.MatchString(strings.TrimSuffix(text, "\n")) {
				t.Errorf("no benchmark line: %s", text)
			}
		}
	}
	if count != 48 {
		t.Errorf("%d lines for 24 valid rows of two turns", count)
	}
}

// compare compares the output of write for r with a golden file.
func compare(t *testing.T, file string, write func(io.Writer, *Result) error, r *Result) {
	t.Helper()
	golden.Require(t, file, written(t, write, r))
}

func written(t *testing.T, write func(io.Writer, *Result) error, r *Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestJSONHasNoNulls(t *testing.T) {
	data, err := json.Marshal(example(t))
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(data, []byte("null")); i >= 0 {
		t.Errorf("the JSON has %s", data[max(0, i-40):i+4])
	}
}
