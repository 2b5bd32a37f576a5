// Package result is what a run leaves behind: one value with the configuration and its origins, the environment,
// every sample and where each process ran. Tables and JSON files are made from it.
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

// Schema names the format of the JSON file. Its number rises when a reader of the old format could misread the new
// one.
const Schema = "psbench.result/2"

// The passes of a run.
const (
	WarmUp   = "warm-up"
	Measured = "measured"
)

// Result is one run. Throughput, losses, evaluation, series and parameters belong to its Pass.
type Result struct {
	Schema string `json:"schema"`
	// Complete is false if the run ended early. Error then says why, and the series are those of the processes that
	// survived.
	Complete bool   `json:"complete"`
	Error    string `json:"error,omitempty"`
	// Pass is the measured pass: Measured, or WarmUp in a run that ended before its measured pass began.
	Pass    string    `json:"pass"`
	Started time.Time `json:"started"`
	// StartedNS is Started on the clock of the series.
	StartedNS int64    `json:"started_ns"`
	Command   []string `json:"command"`

	Config      []Value     `json:"config"`
	Environment Environment `json:"environment"`
	Warnings    []string    `json:"warnings"`

	// Transport is the transport of the gradients: shm, unix, tcp, grpc or shm+tcp.
	Transport string `json:"transport"`
	// Links says which transport each link used, if Transport combines two.
	Links []Links `json:"links,omitempty"`
	// Group is the kind of the trainers' group, if it differs from the backend's name.
	Group string `json:"group,omitempty"`
	// Connected lists the sets of trainers, by rank, that the hook connects: trainers of a set wait for each other
	// in every iteration. An asynchronous server connects none. Every trainer is in one set.
	Connected [][]int             `json:"connected"`
	Data      Partition           `json:"data"`
	Buckets   []tensor.BucketSpec `json:"buckets"`
	// Tables are the embedding tables of the servers, in the order of the servers.
	Tables    []comm.TableSpec `json:"tables,omitempty"`
	Processes []Process        `json:"processes"`
	// Placement says on which hosts and CPUs processes ran; nil for one host without pinning.
	Placement *placement.Layout `json:"placement,omitempty"`
	// Clocks are the clocks of the hosts other than the core's; empty if there are none.
	Clocks []HostClock `json:"clocks,omitempty"`
	// HostLinks are the links between the hosts, measured in the same run; empty on one host.
	HostLinks []HostLink `json:"host_links,omitempty"`
	// Plugins are the programs that ran, each once.
	Plugins []Plugin `json:"plugins,omitempty"`

	Throughput Throughput `json:"throughput"`
	// StartMS is the time from the start of the core to the first iteration, of the warm-up if there is one.
	StartMS float64 `json:"start_ms"`
	// StartBoundMS is the possible error of StartMS from the clocks of other hosts; 0 on one host.
	StartBoundMS float64 `json:"start_bound_ms,omitempty"`
	// Losses has one list per trainer in iteration order. JSON has null for a loss that is not finite.
	Losses [][]float64 `json:"losses"`
	// NonFinite lists NaN and infinite values that processes found; Warnings name them too.
	NonFinite []NonFinite `json:"non_finite,omitempty"`
	// ArrivalOrder says why losses and parameters depend on the order in which gradients arrived, so that runs with
	// the same configuration differ. If it is empty, psbench expects them to be equal to the last bit.
	ArrivalOrder string `json:"arrival_order,omitempty"`
	// Replicas says whether the trainers ended with equal parameters; nil with one trainer, and if the run ended
	// early.
	Replicas *Replicas `json:"replicas,omitempty"`
	// Evaluation has the results on held-out samples after each epoch; empty without such samples.
	Evaluation []Evaluation `json:"evaluation,omitempty"`
	// Checks says what was recomputed of the data on the links; nil without --check.
	Checks *Checks `json:"checks,omitempty"`
	// Noise says what else took the machine's CPU time, with an interval for each part of the run that ended.
	Noise []noise.Interval `json:"noise,omitempty"`
	// Series holds all measurements, rank by rank.
	Series []*Series `json:"series"`
	// Counters, Gauges and Histograms hold what parts recorded in addition to durations, rank by rank.
	Counters   []Counter   `json:"counters,omitempty"`
	Gauges     []*Gauge    `json:"gauges,omitempty"`
	Histograms []Histogram `json:"histograms,omitempty"`
	// Parameters says what training changed, per trainer and parameter. Only runs that ask for it have it.
	Parameters [][]ParameterSummary `json:"parameters,omitempty"`
	// ServerParameters is the same for servers that hold parameters or tables: one list per server.
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

// Text formats the value: a word as it is, anything else as JSON.
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

// Partition says how the data was cut into batches and divided among the trainers.
type Partition struct {
	Samples           int   `json:"samples"`
	Batches           int   `json:"batches"`
	LargestBatch      int   `json:"largest_batch"`       // in samples, among those that trainers run or evaluate
	BatchesPerTrainer []int `json:"batches_per_trainer"` // in one epoch
	DroppedBatches    int   `json:"dropped_batches"`     // in one epoch
	// OwnBatches means that the data cut the batches itself, whatever the batch size.
	OwnBatches        bool  `json:"own_batches"`
	SamplesPerTrainer []int `json:"samples_per_trainer"` // in one epoch
	// HeldOut is the number of samples, in addition to Samples, for evaluating the model.
	HeldOut int `json:"held_out"`
	// Streamed means that the data was read anew in every epoch.
	Streamed bool `json:"streamed"`
}

// Process is one plugin process: a rank or a companion of a rank.
type Process struct {
	Name   string `json:"name"` // trainer0, server2, data, trainer0.hook ...
	Rank   int    `json:"rank"` // -1 for data
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Plugin string `json:"plugin"`
	// Host is the host where it ran; absent if all processes ran on the core's host.
	Host string `json:"host,omitempty"`
	// Device is the device of a CUDA rank, as in cuda:0.
	Device string `json:"device,omitempty"`
	PID    int    `json:"pid"`
	// StartMS is the time from exec to the end of the handshake.
	StartMS float64 `json:"start_ms"`
	// RSSMiB is the peak resident memory when the results were collected.
	RSSMiB float64 `json:"rss_mib"`
	// Facts are what the parts of the process reported before and after the pass, e.g. blas.
	Facts map[string]string `json:"facts"`
	// BoundaryNS is, for a companion, the median cost of a no-op call from its trainer.
	BoundaryNS int64 `json:"boundary_ns,omitempty"`
}

// Plugin is a program from which processes of a run were started.
type Plugin struct {
	Name string `json:"name"` // builtin is psbench itself
	// Registry is the registry file that names it; "" for psbench itself.
	Registry string `json:"registry"`
	// Command is the absolute path of the program and its arguments.
	Command []string `json:"command"`
	// SHA256 of the program in hex.
	SHA256 string `json:"sha256"`
	// Checked means that each start compared SHA256 with the checksum in the registry.
	Checked bool `json:"checked"`
	// Files are the checksums of the other files that the command runs, by path: interpreters and scripts.
	Files map[string]string `json:"files,omitempty"`
	// Contract is the version of the contract between core and plugin, as in 2.0.
	Contract string `json:"contract"`
}

// Measures reports whether p is a trainer, a server or the data, whose ranks series have. A companion's series have
// the rank of its trainer.
func (p Process) Measures() bool {
	return p.Kind == "trainer" || p.Kind == "server" || p.Kind == "data"
}

// Throughput is the samples of all trainers over the time from the first start to the last end of the pass, minus
// the longest evaluation of any trainer. In a run that ended early it counts the iterations that ended.
type Throughput struct {
	Samples          int64   `json:"samples"`
	Seconds          float64 `json:"seconds"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	// SecondsBound is the possible error of Seconds from the clocks of several hosts; 0 on one host.
	SecondsBound float64 `json:"seconds_bound,omitempty"`
}

// NewThroughput computes samples per second; the rate is 0 if seconds is 0.
func NewThroughput(samples int64, seconds float64) Throughput {
	t := Throughput{Samples: samples, Seconds: seconds}
	if seconds > 0 {
		t.SamplesPerSecond = float64(samples) / seconds
	}
	return t
}

// NonFinite says which NaN and infinite values one process found.
type NonFinite struct {
	Rank   int   `json:"rank"`
	Losses int64 `json:"losses"` // number of losses that are not finite
	// Epoch and Batch are the iteration of the first such loss, and Loss is NaN, +Inf or -Inf. They are meaningless
	// if Losses is 0.
	Epoch int64  `json:"epoch"`
	Batch int64  `json:"batch"`
	Loss  string `json:"loss,omitempty"`
	// Parameter and Gradient are the first ones with such a value after that iteration, or the parameter at the end
	// of the pass.
	Parameter string `json:"parameter,omitempty"`
	Gradient  string `json:"gradient,omitempty"`
}

// Fail notes why the run ended early.
func (r *Result) Fail(err error) { r.Error = err.Error() }

// ParameterSummary says what training changed in one parameter tensor; delta = final - initial.
type ParameterSummary struct {
	Name       string    `json:"name"`
	Elements   int       `json:"elements"`
	DeltaSum   float64   `json:"delta_sum"`
	DeltaSumSq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"` // the first eight
	Head       []float64 `json:"head"`       // the first eight final values
}
