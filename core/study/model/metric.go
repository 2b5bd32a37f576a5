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
	{Throughput, "samples/s", Higher, "samples of all trainers per second of the measured pass"},
	{TimePerBatch, "ms", Lower,
		"median iteration time of the slowest trainer, from the end of the previous iteration"},
	{"time_per_batch_p95", "ms", Lower, "95th percentile of the iteration time; needs 20 iterations"},
	{P99, "ms", Lower, "99th percentile of the iteration time; needs 100 iterations"},
	{HeldOutLoss, "loss", Lower, "loss on the held-out samples after the last epoch"},
	{"held_out_accuracy", "share", Higher,
		"share of the held-out targets that are predicted correctly after the last epoch"},
	{"held_out_auc", "share", Higher, "area under the ROC curve of the held-out samples after the last epoch"},
	{"final_loss", "loss", Lower, "mean loss of all trainers over the last epoch"},
	{LeftOut, "%", Lower,
		"share of an epoch's samples that no trainer trained on; absent if no run left out samples"},
	{"bytes_per_batch", "B", Lower,
		"bytes of gradients that a trainer hands to its hook per iteration; sparse gradients count with their capacity"},
	{Compute, "%", Higher, "share of the iteration time in forward pass, backward pass and optimizer"},
	{Hooking, "%", Lower, "share of the iteration time in which hooks block their trainers before they call their links"},
	{Waiting, "%", Lower, "straggler wait as a share of the iteration time"},
	{Moving, "%", Lower,
		"share of the iteration time in which trainers are blocked by transfers, reductions, lookups or parameters"},
	{"time_data", "ms", Lower, "mean time per iteration in which a trainer gets its data"},
	{"time_compute", "ms", Lower, "mean time per iteration in forward pass, backward pass and optimizer"},
	{"time_hook", "ms", Lower, "mean time per iteration in which a hook blocks its trainer before it calls its link"},
	{"time_waiting", "ms", Lower, "mean straggler wait per iteration"},
	{"time_transfer", "ms", Lower,
		"mean time per iteration in which a trainer is blocked by transfers; an all-reduce includes its additions"},
	{"time_reduction", "ms", Lower,
		"mean time per iteration in which a trainer is blocked while its server reduces and answers a complete bucket"},
	{"time_rest", "ms", Lower, "mean time per iteration that belongs to no part"},
	{"time_codec", "ms", Lower,
		"mean time per iteration in encoding and decoding, if the hook records it; may overlap other times"},
	{"time_straggler", "ms", Lower, "mean time per iteration that the last trainer costs the others"},
	{"peak_memory", "MiB", Lower, "sum of the peak resident memory of all processes"},
	{"start", "ms", Lower, "time from the start of psbench to the first iteration"},
	{CommTime, "µs", Lower, "psbench comm: median latency of an operation over all ranks and rounds"},
	{CommTimeP95, "µs", Lower, "psbench comm: 95th percentile of the latency of an operation"},
	{"algbw", "GB/s", Higher, "psbench comm: bytes of the bucket, divided by the latency"},
	{"busbw", "GB/s", Higher, "psbench comm: bytes on the busiest link, divided by the latency"},
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
