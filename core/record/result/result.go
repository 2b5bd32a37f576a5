// Package result is what a run leaves behind: one value that holds the
// configuration with its origins, the environment, every sample and what ran
// where. The tables and the JSON file are both made from it.
package result

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/host/placement"
)

//go:generate go test -run TestSchemaIsUpToDate -update .

// Schema names the format of the JSON file. The number rises when a reader of
// the old format could misread the new one.
const Schema = "psbench.result/2"

// The passes of a run.
const (
	WarmUp   = "warm-up"
	Measured = "measured"
)

// Result is one run. Throughput, losses, evaluation, series and parameters are those of
// its Pass.
type Result struct {
	Schema string `json:"schema"`
	// Complete is false if the run ended early; Error then says why, and the
	// series are those that the surviving processes had.
	Complete bool   `json:"complete"`
	Error    string `json:"error,omitempty"`
	// Pass is what was measured: Measured, or WarmUp in a run that ended before its
	// measured pass began.
	Pass    string    `json:"pass"`
	Started time.Time `json:"started"`
	// StartedNS is Started on the clock of the series.
	StartedNS int64    `json:"started_ns"`
	Command   []string `json:"command"`

	Config      []Value     `json:"config"`
	Environment Environment `json:"environment"`
	Warnings    []string    `json:"warnings"`

	// Transport is what carried the gradients: shm, unix, tcp, grpc or shm+tcp.
	Transport string `json:"transport"`
	// Links says which transport each link used where that is made of two: Transport otherwise.
	Links []Links `json:"links,omitempty"`
	// Group is what the trainers' group was where it is not what the backend names.
	Group string `json:"group,omitempty"`
	// Connected are the ranks of the trainers by the sets that the hook connects: those of a
	// set wait for each other in every iteration. An asynchronous server connects none. Every
	// trainer is in one.
	Connected [][]int             `json:"connected"`
	Data      Partition           `json:"data"`
	Buckets   []tensor.BucketSpec `json:"buckets"`
	// Tables are the embedding tables of the servers, in the order of the servers.
	Tables    []comm.TableSpec `json:"tables,omitempty"`
	Processes []Process        `json:"processes"`
	// Placement is on which hosts and CPUs processes ran; nil where that was one host, and any CPU.
	Placement *placement.Layout `json:"placement,omitempty"`
	// Clocks are those of the hosts but the core's; none where all ran on that.
	Clocks []HostClock `json:"clocks,omitempty"`
	// HostLinks are those between the hosts, measured in the same run; none on one host.
	HostLinks []HostLink `json:"host_links,omitempty"`
	// Plugins are the programs that ran, each once.
	Plugins []Plugin `json:"plugins,omitempty"`

	Throughput Throughput `json:"throughput"`
	// StartMS is the time from the start of the core to the first iteration, which is the
	// warm-up's where there is one.
	StartMS float64 `json:"start_ms"`
	// StartBoundMS is how wrong that may be for the clocks of other hosts; 0 on one host.
	StartBoundMS float64 `json:"start_bound_ms,omitempty"`
	// Losses: one list per trainer, in iteration order.
	// JSON holds null for a loss that is not finite.
	Losses [][]float64 `json:"losses"`
	// NonFinite is what processes found of NaN and infinite values; Warnings say it too.
	NonFinite []NonFinite `json:"non_finite,omitempty"`
	// ArrivalOrder says why losses and parameters depend on the order in which gradients arrived: runs with
	// the same configuration then differ. Without it they are equal to the last bit, as far as psbench knows.
	ArrivalOrder string `json:"arrival_order,omitempty"`
	// Replicas says whether the trainers ended with equal parameters; nil with one trainer, and
	// where the run ended early.
	Replicas *Replicas `json:"replicas,omitempty"`
	// Evaluation is what was found after each epoch on samples that
	// no trainer trains on. Without such samples there is none.
	Evaluation []Evaluation `json:"evaluation,omitempty"`
	// Checks is what was recomputed of what went over the links; nil without --check.
	Checks *Checks `json:"checks,omitempty"`
	// Noise is what else took the machine's CPU time: an interval for each part of the run
	// that ended.
	Noise []noise.Interval `json:"noise,omitempty"`
	// Series, rank by rank, are all measurements.
	Series []*Series `json:"series"`
	// Counters, Gauges and Histograms are what parts recorded beside durations, rank by rank.
	Counters   []Counter   `json:"counters,omitempty"`
	Gauges     []*Gauge    `json:"gauges,omitempty"`
	Histograms []Histogram `json:"histograms,omitempty"`
	// Parameters holds what training changed, per trainer and parameter; only
	// runs that ask for it have it.
	Parameters [][]ParameterSummary `json:"parameters,omitempty"`
	// ServerParameters is the same of servers that hold parameters or tables: a list
	// per server.
	ServerParameters [][]ParameterSummary `json:"server_parameters,omitempty"`

	// Works, Found and Scores are what Compute needs; only run folders keep them.
	Works  []Work  `json:"-"`
	Found  []Found `json:"-"` // by trainer
	Scores []Score `json:"-"` // by epoch and bin
}

// Value is one effective configuration value.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // e.g. "default", "flag --ntrainer", "run.json"
}

// Text is the value as people write it: a word as it is, anything else as JSON.
func (v Value) Text() string {
	if s, ok := v.Value.(string); ok {
		return s
	}
	text, err := json.Marshal(v.Value)
	if err != nil {
		return fmt.Sprint(v.Value)
	}
	return string(text)
}

// Partition is how the data was cut into batches and divided among the trainers.
type Partition struct {
	Samples           int   `json:"samples"`
	Batches           int   `json:"batches"`
	LargestBatch      int   `json:"largest_batch"`       // in samples, of those that trainers run or evaluate
	BatchesPerTrainer []int `json:"batches_per_trainer"` // in one epoch
	DroppedBatches    int   `json:"dropped_batches"`     // in one epoch
	// OwnBatches says that the data cut the batches itself, whatever the batch size.
	OwnBatches        bool  `json:"own_batches"`
	SamplesPerTrainer []int `json:"samples_per_trainer"` // in one epoch
	// HeldOut is how many samples, beside Samples, the model is evaluated on.
	HeldOut int `json:"held_out"`
	// Streamed says that the data was read anew in every epoch.
	Streamed bool `json:"streamed"`
}

// Process is one plugin process: a rank or a companion of one.
type Process struct {
	Name   string `json:"name"` // trainer0, server2, data, trainer0.hook ...
	Rank   int    `json:"rank"` // -1 for data
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Plugin string `json:"plugin"`
	// Host is where it ran; absent where all ran on the core's.
	Host string `json:"host,omitempty"`
	// Device is what a CUDA rank computed on, as in cuda:0.
	Device string `json:"device,omitempty"`
	PID    int    `json:"pid"`
	// StartMS is the time from exec to the end of the handshake.
	StartMS float64 `json:"start_ms"`
	// RSSMiB is the peak resident memory at collection.
	RSSMiB float64 `json:"rss_mib"`
	// Facts are what the parts in the process reported before and after the pass, e.g. blas.
	Facts map[string]string `json:"facts"`
	// BoundaryNS is, for a companion, the median cost of a no-op call from its
	// trainer.
	BoundaryNS int64 `json:"boundary_ns,omitempty"`
}

// Plugin is a program that processes of a run were started from.
type Plugin struct {
	Name string `json:"name"` // builtin is psbench itself
	// Registry is the registry file that names it; "" for psbench itself.
	Registry string `json:"registry"`
	// Command is its program, an absolute path, and the program's arguments.
	Command []string `json:"command"`
	// SHA256 of the program in hex.
	SHA256 string `json:"sha256"`
	// Checked says that each start compared it with that of the registry.
	Checked bool `json:"checked"`
	// Files are the same of what the command runs beside the program, by path: interpreters and
	// scripts.
	Files map[string]string `json:"files,omitempty"`
	// Contract is the version of the contract between core and plugin that it speaks, as in 2.0.
	Contract string `json:"contract"`
}

// Measures says whether p is a trainer, a server or the data, whose rank series bear. A
// companion's series bear the rank of its trainer.
func (p Process) Measures() bool {
	return p.Kind == "trainer" || p.Kind == "server" || p.Kind == "data"
}

// Throughput is samples of all trainers over the time from the first start to the last
// end of the pass, less the time that the trainer with the longest evaluation spent on
// it. In a run that ended early it is of the iterations that ended.
type Throughput struct {
	Samples          int64   `json:"samples"`
	Seconds          float64 `json:"seconds"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	// SecondsBound is how wrong Seconds may be for the clocks of several hosts; 0 on one host.
	SecondsBound float64 `json:"seconds_bound,omitempty"`
}

// NewThroughput makes the rate of samples in seconds; it is 0 without time.
func NewThroughput(samples int64, seconds float64) Throughput {
	t := Throughput{Samples: samples, Seconds: seconds}
	if seconds > 0 {
		t.SamplesPerSecond = float64(samples) / seconds
	}
	return t
}

// NonFinite is what one process found of NaN and infinite values.
type NonFinite struct {
	Rank   int   `json:"rank"`
	Losses int64 `json:"losses"` // how many are not finite
	// Epoch and Batch are the iteration of the first such loss, and Loss is NaN, +Inf or
	// -Inf. They mean nothing if Losses is 0.
	Epoch int64  `json:"epoch"`
	Batch int64  `json:"batch"`
	Loss  string `json:"loss,omitempty"`
	// Parameter and Gradient are the first with such a value after that iteration, or the
	// parameter at the end of the pass.
	Parameter string `json:"parameter,omitempty"`
	Gradient  string `json:"gradient,omitempty"`
}

// Fail notes why the run ended early.
func (r *Result) Fail(err error) { r.Error = err.Error() }

// ParameterSummary is what training changed in one parameter tensor, with
// delta = final - initial.
type ParameterSummary struct {
	Name       string    `json:"name"`
	Elements   int       `json:"elements"`
	DeltaSum   float64   `json:"delta_sum"`
	DeltaSumSq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"` // the first eight
	Head       []float64 `json:"head"`       // the first eight final values
}
