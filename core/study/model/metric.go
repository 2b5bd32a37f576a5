package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// MetricFor returns the metric for comparing studies: the named one, otherwise the metric of their sweeps, or the time
// for psbench comm. It returns an error if name is "" and the studies have different metrics.
func MetricFor(name string, studies ...*Study) (Metric, error) {
	var by Metric
	for i, s := range studies {
		metric, err := s.MetricOr(name)
		if err != nil {
			return by, fmt.Errorf("%s: %w", s.Name, err)
		}
		if i > 0 && metric != by {
			return Metric{}, fmt.Errorf("%s is compared by %s, but %s by %s: name one with --metric", studies[0].Name,
				by.Name, s.Name, metric.Name)
		}
		by = metric
	}
	return by, nil
}

// Better is the direction in which a metric improves.
type Better string

// The directions of metrics.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Metric describes one number of a run.
type Metric struct {
	Name string
	// Unit is written as in docs/metrics.md, e.g. "ms".
	Unit   string
	Better Better
	// Means describes the metric in a phrase.
	Means string
}

// The names of metrics that the code refers to.
const (
	// Throughput is the metric for comparing runs unless the user chooses another.
	Throughput   = "throughput"
	TimePerBatch = "time_per_batch"
	P99          = "time_per_batch_p99"
	HeldOutLoss  = "held_out_loss"
	Compute      = "compute_share"
	Hooking      = "hook_share"
	Waiting      = "waiting_share"
	Moving       = "moving_share"
	LeftOut      = "left_out"
	CommTime     = "comm_time"
	CommTimeP95  = "comm_time_p95"
)

// Metrics lists all metrics that runs may have.
var Metrics = []Metric{
	{Throughput, "samples/s", Higher, "samples of all trainers in a second of the measured pass"},
	{TimePerBatch, "ms", Lower,
		"median of the iterations, each from the end of the one before to its own, by its slowest trainer"},
	{"time_per_batch_p95", "ms", Lower, "95th percentile of the same, from 20 iterations on"},
	{P99, "ms", Lower, "99th percentile of the same, from 100 iterations on"},
	{HeldOutLoss, "loss", Lower, "loss on the held-out samples after the last epoch"},
	{"held_out_accuracy", "share", Higher, "share of the held-out targets that are hit after the last epoch"},
	{"held_out_auc", "share", Higher, "area under the ROC curve of the held-out samples after the last epoch"},
	{"final_loss", "loss", Lower, "mean loss of the last epoch's iterations, of all trainers"},
	{LeftOut, "%", Lower,
		"share of an epoch's samples that no trainer of the run trained on; of studies where a run left out any"},
	{"bytes_per_batch", "B", Lower,
		"bytes of gradients that a trainer hands to its hook in an iteration; those of a table with as many rows as they can have"},
	{Compute, "%", Higher, "share of the iterations in forward and backward pass and optimizer"},
	{Hooking, "%", Lower, "share in which hooks block their trainers and have not called their links"},
	{Waiting, "%", Lower, "share in which trainers wait for the last one"},
	{Moving, "%", Lower,
		"share in which trainers are blocked for bytes that move or are reduced: exposed communication that is neither waiting nor a hook's own time, lookups, parameters"},
	{"time_data", "ms", Lower, "mean of the iterations of all trainers in which they get data"},
	{"time_compute", "ms", Lower, "the same in forward and backward pass and optimizer"},
	{"time_hook", "ms", Lower, "the same in hooks that block their trainers and have not called their links"},
	{"time_waiting", "ms", Lower, "the same in waiting for the last trainer"},
	{"time_transfer", "ms", Lower,
		"the same in being blocked while bytes move; of an all-reduce, while they are added too"},
	{"time_reduction", "ms", Lower,
		"the same in being blocked while a server has all gradients of a bucket and has not answered all"},
	{"time_rest", "ms", Lower, "the same in no part"},
	{"time_codec", "ms", Lower, "the same in encoding and decoding, where hooks stamp it, wherever that is"},
	{"time_straggler", "ms", Lower, "what trainers that came last cost the others, in the mean of the iterations"},
	{"peak_memory", "MiB", Lower, "peak resident memory of all processes, added"},
	{"start", "ms", Lower, "from the start of psbench to the first iteration"},
	{CommTime, "µs", Lower, "of psbench comm: median latency of an operation, of all ranks and rounds"},
	{CommTimeP95, "µs", Lower, "of psbench comm: 95th percentile of the same"},
	{"algbw", "GB/s", Higher, "of psbench comm: bytes of the bucket in that time"},
	{"busbw", "GB/s", Higher, "of psbench comm: bytes that the busiest link must carry in that time"},
}

// MetricOf returns the metric with this name.
func MetricOf(name string) (Metric, error) {
	if i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return Metrics[i], nil
	}
	return Metric{}, fmt.Errorf("unknown metric %s%s", quote.String(name),
		spelling.Hint(name, MetricNames(), "metrics", "docs/answer.md has all"))
}

// MetricNames returns the names of Metrics, in their order.
func MetricNames() []string {
	names := make([]string, len(Metrics))
	for i, m := range Metrics {
		names[i] = m.Name
	}
	return names
}

// Learns reports whether the metric measures what the model learned. Such a metric depends on the training data.
func (m Metric) Learns() bool {
	return m.Name == "final_loss" || strings.HasPrefix(m.Name, "held_out_")
}

// MetricOr returns the named metric. If name is "", it returns the metric of the study, or the time for psbench comm.
// It returns an error if no run has the named metric. The study's own metric is always accepted.
func (s *Study) MetricOr(name string) (Metric, error) {
	switch {
	case name != "" && name != s.Metric:
		m, err := MetricOf(name)
		if err == nil {
			err = s.has(m)
		}
		return m, err
	case s.Metric != "":
		return MetricOf(s.Metric)
	case s.IsComm():
		return MetricOf(CommTime)
	}
	return MetricOf(Throughput)
}

// has returns an error if the study has runs and all of them lack the metric.
func (s *Study) has(m Metric) error {
	runs := s.AllRuns()
	have := map[string]bool{}
	for _, r := range runs {
		for name := range r.Values {
			have[name] = true
		}
	}
	if have[m.Name] || len(runs) == 0 {
		return nil
	}
	names := slices.DeleteFunc(MetricNames(), func(name string) bool { return !have[name] })
	return fmt.Errorf("no run has the metric %s; %s", m.Name,
		spelling.Choices(m.Name, names, "metrics that they have", "psbench export lists all"))
}

// Beats reports whether value a is better than value b. NaN beats nothing, and any number beats NaN.
func (m Metric) Beats(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return !math.IsNaN(a)
	case m.Better == Higher:
		return a > b
	}
	return a < b
}
