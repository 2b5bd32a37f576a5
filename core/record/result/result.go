// Package result defines the result of a run. A Result contains the configuration and its origins, the environment,
// every sample, and where each process ran. Tables and JSON files are made from it.
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

// Schema is the name of the JSON file's format. The number in Schema increases when an older reader could misread the
// new format.
const Schema = "psbench.result/2"

// These are the passes of a run.
const (
	WarmUp   = "warm-up"
	Measured = "measured"
)

// Result is the result of one run. Throughput, losses, evaluation, series and parameters belong to its Pass.
type Result struct {
	Schema string `json:"schema"`
	// Complete is false if the run ended early. Error then says why, and the result has only the series of the
	// processes that survived.
	Complete bool   `json:"complete"`
	Error    string `json:"error,omitempty"`
	// Pass is the pass that was measured. Pass is Measured, or WarmUp if the run ended before its measured pass began.
	Pass    string    `json:"pass"`
	Started time.Time `json:"started"`
	// StartedNS is the time Started on the clock of the series.
	StartedNS int64    `json:"started_ns"`
	Command   []string `json:"command"`

	Config      []Value     `json:"config"`
	Environment Environment `json:"environment"`
	Warnings    []string    `json:"warnings"`

	// Transport is the transport of the gradients: shm, unix, tcp, grpc or shm+tcp.
	Transport string `json:"transport"`
	// Links lists which transport each link used, if Transport combines two transports.
	Links []Links `json:"links,omitempty"`
	// Group is the kind of the trainers' group, if it is not the same as the backend's name.
	Group string `json:"group,omitempty"`
	// Connected lists the sets of trainers, by rank, that the hook connects. Trainers of a set wait for each other in
	// every iteration. An asynchronous server connects no trainers. Every trainer is in one set.
	Connected [][]int             `json:"connected"`
	Data      Partition           `json:"data"`
	Buckets   []tensor.BucketSpec `json:"buckets"`
	// Tables lists the embedding tables of all servers, in the order of the servers.
	Tables    []comm.TableSpec `json:"tables,omitempty"`
	Processes []Process        `json:"processes"`
	// Placement says on which hosts and CPUs the processes ran. Placement is nil for one host without pinning.
	Placement *placement.Layout `json:"placement,omitempty"`
	// Clocks lists the clocks of all hosts except the core's host. Clocks is empty for one host.
	Clocks []HostClock `json:"clocks,omitempty"`
	// HostLinks lists the links between the hosts, measured in the same run. HostLinks is empty for one host.
	HostLinks []HostLink `json:"host_links,omitempty"`
	// Plugins lists the programs that ran, without duplicates.
	Plugins []Plugin `json:"plugins,omitempty"`

	Throughput Throughput `json:"throughput"`
	// StartMS is the time from the start of the core to the first iteration, in ms. If there is a warm-up, its first
	// iteration counts.
	StartMS float64 `json:"start_ms"`
	// StartBoundMS is the possible error of StartMS because of differences between hosts' clocks. StartBoundMS is 0 on
	// one host.
	StartBoundMS float64 `json:"start_bound_ms,omitempty"`
	// Losses contains one list per trainer, in iteration order. In JSON, a loss that is not finite is null.
	Losses [][]float64 `json:"losses"`
	// NonFinite lists the NaN and infinite values that processes found. Warnings name them too.
	NonFinite []NonFinite `json:"non_finite,omitempty"`
	// ArrivalOrder says why losses and parameters depend on the order in which gradients arrived. Runs with the same
	// configuration then have different results. If ArrivalOrder is empty, psbench expects results that are equal to
	// the last bit.
	ArrivalOrder string `json:"arrival_order,omitempty"`
	// Replicas says whether the trainers ended with equal parameters. Replicas is nil with one trainer, and if the run
	// ended early.
	Replicas *Replicas `json:"replicas,omitempty"`
	// Evaluation contains the results on held-out samples after each epoch. Evaluation is empty if there are no such
	// samples.
	Evaluation []Evaluation `json:"evaluation,omitempty"`
	// Checks says how much of the data on the links was recomputed. Checks is nil without --check.
	Checks *Checks `json:"checks,omitempty"`
	// Noise says what other work took the machine's CPU time. Noise has one interval for each finished part of the run.
	Noise []noise.Interval `json:"noise,omitempty"`
	// Series contains all measurements, in the order of the ranks.
	Series []*Series `json:"series"`
	// Counters, Gauges and Histograms contain the numbers other than durations that parts recorded, in the order of the
	// ranks.
	Counters   []Counter   `json:"counters,omitempty"`
	Gauges     []*Gauge    `json:"gauges,omitempty"`
	Histograms []Histogram `json:"histograms,omitempty"`
	// Parameters says how training changed each parameter of each trainer. Only runs that ask for it have it.
	Parameters [][]ParameterSummary `json:"parameters,omitempty"`
	// ServerParameters says how training changed the parameters or tables of each server, with one list per server.
	ServerParameters [][]ParameterSummary `json:"server_parameters,omitempty"`

	// Works, Found and Scores are the data that Compute needs. Only run folders store them.
	Works  []Work  `json:"-"`
	Found  []Found `json:"-"` // in the order of trainers
	Scores []Score `json:"-"` // in the order of epochs and bins
}

// Value is one value of the effective configuration.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // such as "default", "flag --ntrainer" or "run.json"
}

// Text formats the value. A string stays as it is, and all other values are formatted as JSON.
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

// Partition says how the data was divided into batches and distributed to the trainers.
type Partition struct {
	Samples           int   `json:"samples"`
	Batches           int   `json:"batches"`
	LargestBatch      int   `json:"largest_batch"`       // in samples; only batches that trainers run or evaluate
	BatchesPerTrainer []int `json:"batches_per_trainer"` // number of batches per epoch, for each trainer
	DroppedBatches    int   `json:"dropped_batches"`     // number of batches per epoch that no trainer gets
	// OwnBatches means that the data chose the batches itself and ignored the batch size.
	OwnBatches        bool  `json:"own_batches"`
	SamplesPerTrainer []int `json:"samples_per_trainer"` // number of samples per epoch, for each trainer
	// HeldOut is the number of additional samples for evaluating the model. Samples does not include them.
	HeldOut int `json:"held_out"`
	// Streamed means that the data was read again in every epoch.
	Streamed bool `json:"streamed"`
}

// Process is one plugin process. Process is a rank or a companion of a rank.
type Process struct {
	Name   string `json:"name"` // such as trainer0, server2, data or trainer0.hook
	Rank   int    `json:"rank"` // rank, or -1 for data
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Plugin string `json:"plugin"`
	// Host is the host on which the process ran. Host is absent if all processes ran on the core's host.
	Host string `json:"host,omitempty"`
	// Device is the device of a CUDA rank, such as cuda:0.
	Device string `json:"device,omitempty"`
	PID    int    `json:"pid"`
	// StartMS is the time from exec to the end of the handshake.
	StartMS float64 `json:"start_ms"`
	// RSSMiB is the peak resident memory at the time when the results were collected.
	RSSMiB float64 `json:"rss_mib"`
	// Facts contains what the parts of the process reported before and after the pass, such as blas.
	Facts map[string]string `json:"facts"`
	// BoundaryNS is the median time of a no-op call from its trainer to this companion. Other processes do not have it.
	BoundaryNS int64 `json:"boundary_ns,omitempty"`
}

// Plugin is a program that ran as a process of the run.
type Plugin struct {
	Name string `json:"name"` // builtin means psbench itself
	// Registry is the registry file that lists the plugin. Registry is "" for psbench itself.
	Registry string `json:"registry"`
	// Command is the absolute path of the program, and its arguments.
	Command []string `json:"command"`
	// SHA256 is the checksum of the program in hex.
	SHA256 string `json:"sha256"`
	// Checked means that every start compared SHA256 with the checksum in the registry.
	Checked bool `json:"checked"`
	// Files contains the checksums of the command's other files, such as interpreters and scripts. The keys are paths.
	Files map[string]string `json:"files,omitempty"`
	// Contract is the version of the contract between core and plugin, such as 2.0.
	Contract string `json:"contract"`
}

// Measures reports whether p is a trainer, a server or the data. Series have the ranks of these processes. The series
// of a companion have the rank of its trainer.
func (p Process) Measures() bool {
	return p.Kind == "trainer" || p.Kind == "server" || p.Kind == "data"
}

// Throughput is the number of samples of all trainers per second. The time runs from the first start to the last end of
// the pass, minus the longest evaluation of any trainer. If the run ended early, only finished iterations count.
type Throughput struct {
	Samples          int64   `json:"samples"`
	Seconds          float64 `json:"seconds"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	// SecondsBound is the possible error of Seconds because of differences between hosts' clocks. SecondsBound is 0 on
	// one host.
	SecondsBound float64 `json:"seconds_bound,omitempty"`
}

// NewThroughput computes samples per second. The rate is 0 if seconds is 0.
func NewThroughput(samples int64, seconds float64) Throughput {
	t := Throughput{Samples: samples, Seconds: seconds}
	if seconds > 0 {
		t.SamplesPerSecond = float64(samples) / seconds
	}
	return t
}

// NonFinite says which NaN and infinite values a process found.
type NonFinite struct {
	Rank   int   `json:"rank"`
	Losses int64 `json:"losses"` // number of losses that are not finite
	// Epoch and Batch identify the iteration of the first such loss. Loss is NaN, +Inf or -Inf. These fields have no
	// meaning if Losses is 0.
	Epoch int64  `json:"epoch"`
	Batch int64  `json:"batch"`
	Loss  string `json:"loss,omitempty"`
	// Parameter and Gradient are the names of the first parameter and gradient with such a value after that iteration.
	// At the end of the pass, Parameter is the first parameter with such a value.
	Parameter string `json:"parameter,omitempty"`
	Gradient  string `json:"gradient,omitempty"`
}

// Fail records why the run ended early.
func (r *Result) Fail(err error) { r.Error = err.Error() }

// ParameterSummary says how training changed one parameter tensor. delta is the final minus the initial value.
type ParameterSummary struct {
	Name       string    `json:"name"`
	Elements   int       `json:"elements"`
	DeltaSum   float64   `json:"delta_sum"`
	DeltaSumSq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"` // first eight elements
	Head       []float64 `json:"head"`       // first eight final values
}
