package micro

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
)

//go:generate go test -run TestSchemaIsUpToDate -update .

// Schema is the format name of the JSON file. The number rises if a reader of the old format could misread the new
// format.
const Schema = "psbench.comm/2"

// Result holds the measurements of one run of psbench comm.
type Result struct {
	Schema string `json:"schema"`
	// Complete is false if the run ended early. Error then says why, and Rows holds the rows that were measured
	// before the end.
	Complete    bool               `json:"complete"`
	Error       string             `json:"error,omitempty"`
	Started     time.Time          `json:"started"`
	Command     []string           `json:"command"`
	Environment result.Environment `json:"environment"`
	// Plugins lists each program that ran, once.
	Plugins []result.Plugin `json:"plugins,omitempty"`
	// Placement says where the processes of each transport ran. It is omitted if all ran on one host and none was
	// pinned.
	Placement *placement.Layout `json:"placement,omitempty"`
	// Links says which links each part of a combined transport, such as shm+tcp, carried.
	Links []result.Links `json:"links,omitempty"`
	// HostLinks are the links between the hosts, measured in the same run; none on one host.
	HostLinks []result.HostLink `json:"host_links,omitempty"`
	Limits    []Limit           `json:"limits"`
	Rows      []*Row            `json:"rows"`
	// Noise says how much CPU time other work took, with an interval for each part of the run that ended. psbench
	// measured the rows in the interval "measured", the limits before and after it.
	Noise    []noise.Interval `json:"noise,omitempty"`
	Warnings []string         `json:"warnings,omitempty"` // one sentence each

	plan *Plan
}

// Pending returns the result of a run that has not begun.
func Pending(o Options) *Result {
	r := newResult(o)
	r.Error = result.Running
	return r
}

// Fail records why the run ended early.
func (r *Result) Fail(err error) { r.Error = err.Error() }

func newResult(o Options) *Result {
	return &Result{
		Schema: Schema, Command: o.Command, Environment: result.Capture(), Limits: []Limit{}, Rows: []*Row{},
		Started: time.Now().Add(-time.Duration(comm.Now() - o.StartedNS)),
	}
}

// Limit is an upper bound of the machine, measured in the same run.
type Limit struct {
	Name string `json:"name"`
	// Bytes is the footprint of a copy, source and destination together; 0 for a link.
	Bytes int `json:"bytes"`
	// Cores is the number of cores that copied at once; 0 for a link.
	Cores int `json:"cores"`
	// Connections is the number of connections that were busy at once; 0 for a copy.
	Connections int `json:"connections"`
	// GBps is the rate of copied or received bytes, in 10^9 bytes per second.
	GBps float64 `json:"gb_per_s"`
}

// Row holds the measurements of one operation on one transport.
type Row struct {
	Operation string `json:"operation"`
	Server    string `json:"server"`         // key; empty if no server took part
	Hook      string `json:"hook,omitempty"` // key; only of the operation hook
	Transport string `json:"transport"`
	Trainers  int    `json:"trainers"`
	Servers   int    `json:"servers"` // number of servers that took part
	// Aggregate is "host" if the trainers of each host pushed as one to a server on another host.
	Aggregate string `json:"aggregate,omitempty"`
	Mode      Mode   `json:"mode"`
	Place     Place  `json:"place"`
	Sparse    bool   `json:"sparse"`
	Bytes     int    `json:"bytes"`  // size of the bucket; 0 for a barrier
	Rounds    int    `json:"rounds"` // timed rounds of each rank
	// DType is the element type of the bucket; omitted if it is float32.
	DType tensor.Type `json:"dtype,omitempty" jsonschema:"enum=float16,enum=bfloat16,enum=int32,enum=int64,enum=int8,enum=uint8"`

	// The latencies are over all rounds of all ranks.
	P50US float64 `json:"p50_us"`
	P95US float64 `json:"p95_us"`
	MinUS float64 `json:"min_us"`
	// AlgbwGBps and BusbwGBps are computed from the median; docs/comm.md has the formulas.
	AlgbwGBps float64 `json:"algbw_gb_per_s"`
	BusbwGBps float64 `json:"busbw_gb_per_s"`
	// MovedBytes is the number of bytes that all ranks together read plus write in shared memory; 0 if unknown.
	MovedBytes float64 `json:"moved_bytes"`
	// Share is the share of a limit that the row reaches, 1 for the whole limit; 0 if there is no limit to compare
	// with. ShareOf names the limit.
	Share   float64 `json:"share"`
	ShareOf string  `json:"share_of"`

	// Verified says in which rounds every value was compared and right. Mismatch describes the first wrong value; it
	// voids the row.
	Verified Verified `json:"verified" jsonschema:"enum=rounds,enum=lead-in,enum=none"`
	Mismatch string   `json:"mismatch"`
	// Unchecked says why no value was compared, if the expected values are unknown.
	Unchecked string `json:"unchecked,omitempty"`
	// LatenciesUS has a list per turn: the latencies of the rounds of rank 0, then of rank 1, and so on.
	LatenciesUS [][]float64 `json:"latencies_us_by_repeat"`

	// Width is the number of elements in a row of a sparse bucket. Density is the share of the rows that ranks push.
	// Only the result in a folder has them.
	Width   int     `json:"-"`
	Density float64 `json:"-"`
	// Mapped means that the gradients lie in memory that ranks map. Only the result in a folder has it.
	Mapped bool `json:"-"`

	across bool // the ranks run on several hosts, so no limit is known
	volume bench.Volume
}

// Verified says which rounds of a row were verified.
type Verified string

// Every fresh round is verified. Warm rounds carry zeros and cannot be verified. Each turn of warm rounds therefore
// begins with one fresh round, which is verified but not timed.
const (
	EveryRound Verified = "rounds"
	LeadIn     Verified = "lead-in"
	NoRound    Verified = "none"
)

// Void reports whether a wrong value has made the row worthless.
func (r *Row) Void() bool { return r.Mismatch != "" }

func (p *Plan) newRow(c cell, f *fabric.Fabric) *Row {
	r := &Row{
		Operation: c.operation.Name, Transport: f.Name, Mapped: f.Maps(), Trainers: p.World.Trainers, Mode: c.mode,
		Place:  c.place,
		Sparse: p.Sparse && c.size > 0, Bytes: c.size, volume: p.volumeOf(c),
	}
	r.MovedBytes = r.volume.Moved
	if c.operation.Served || c.operation.Hooked && p.HookLinks.Server {
		r.Server, r.Servers = p.Server.Key, p.World.Servers
		if p.Aggregate {
			r.Aggregate = "host"
		}
	}
	if r.Sparse {
		r.Width, r.Density = p.Width, p.Density
	}
	if !c.dtype.Is32() {
		r.DType = c.dtype
	}
	if c.operation.Hooked {
		r.Hook = p.Hook.Key
	}
	r.Unchecked, r.Verified = p.unchecked(c), p.verified(c)
	return r
}

func (p *Plan) verified(c cell) Verified {
	switch {
	case c.operation.Empty, p.unchecked(c) != "":
		return NoRound
	case c.mode == Warm:
		return LeadIn
	default:
		return EveryRound
	}
}

// note makes the row void if the turn found a mismatch. If the turn could not compare values, note records why.
func (r *Row) note(t *turn) {
	if r.Unchecked == "" && t.unchecked != "" {
		r.Unchecked, r.Verified = t.unchecked, NoRound
	}
	if r.Mismatch == "" && t.mismatch != "" {
		r.Mismatch, r.Verified = t.mismatch, NoRound
	}
}

// add adds the latencies of a turn to the row.
func (r *Row) add(t *turn) {
	r.note(t)
	r.Rounds += t.rounds
	r.LatenciesUS = append(r.LatenciesUS, t.latenciesUS)
	r.summarize()
}

// summarize computes the row's numbers from its latencies.
func (r *Row) summarize() {
	var all []float64
	for _, latencies := range r.LatenciesUS {
		all = append(all, latencies...)
	}
	s := stats.Summarize(all)
	r.P50US, r.P95US, r.MinUS = s.P50, s.P95, s.Min
	r.AlgbwGBps, r.BusbwGBps = rate(r.volume.Alg, s.P50), rate(r.volume.Bus, s.P50)
}

// rate returns the rate in GB/s for this many bytes in us microseconds.
func rate(bytes, us float64) float64 {
	if us <= 0 {
		return 0
	}
	return bytes / us / 1e3
}

// voided returns an error if the result has void rows.
func (r *Result) voided() error {
	void, first := 0, ""
	for _, row := range r.Rows {
		if row.Void() {
			void++
			if first == "" {
				first = row.Mismatch
			}
		}
	}
	if void == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d rows are void: %s", void, len(r.Rows), first)
}
