package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// term is the name that reports use for a metric, or for a line that psbench computes from several metrics.
type term struct {
	metric breakdown.Metric // zero if the term is not a metric
	name   string
	means  string
}

// terms lists the metrics of psbench's own parts in the order of the legend. Parts of an iteration come first.
var terms = []term{
	{breakdown.Whole, "iteration, without its data", "an iteration from its first step to its last one"},
	{iterationMetric(dataparallel.Data), "data", "the trainer gets its batch"},
	{breakdown.Metric{Type: "lookup_metric", Name: "lookup"}, "lookup",
		"from the request for the batch's rows until the servers' tables have sent all of them"},
	{breakdown.Metric{Type: "forward_metric", Name: "forward_pass"}, "forward", "forward pass and loss"},
	{iterationMetric(dataparallel.Backward), "backward",
		"the backward pass, which hands gradients to the hook"},
	{breakdown.Exposed, "exposed communication", "the trainer is blocked after the backward pass until the reductions end"},
	{breakdown.Metric{}, hookRow,
		"the hook's own time in this part, before it calls its links; shown from 1 % of the time per batch on"},
	{breakdown.Metric{}, waitRow,
		"the part of it until the last connected trainer is blocked too and its hook has called its links; the remainder is communication"},
	{iterationMetric(dataparallel.Optimizer), "optimizer", "the trainer's optimizer steps"},
	{iterationMetric(dataparallel.ExposedUpdate), "exposed update of tables",
		"the trainer is blocked after its step until the servers have applied its rows' gradients"},
	{iterationMetric(dataparallel.Parameters), "parameters", "the server's parameters are copied into the model"},
	{breakdown.Metric{}, rest, "the time per batch outside these parts"},
	{breakdown.Metric{}, "stragglers",
		"the trainers that were ready last, with the costliest first: how often, and how late on average after the one before; ready is blocked and past the hook's own time"},

	{breakdown.Metric{Type: "hook_future_metric", Name: "rpc_dense"}, "push to reply",
		"from the call of the hook for a bucket of gradients until the server's reply arrives"},
	{breakdown.Metric{Type: "hook_future_metric", Name: "rpc_sparse"}, "push to reply, sparse",
		"the same for a table's gradient, which travels as rows"},
	{breakdown.Metric{Type: "hook_future_metric", Name: "gloo_dense_allreduce"}, "all-reduce",
		"from the call of the hook for a bucket of gradients until the trainers' average arrives"},
	{breakdown.Metric{Type: "hook_future_metric", Name: "gloo_sparse_allreduce"}, "all-reduce, sparse",
		"the same for a table's gradient, which travels as rows"},
	{breakdown.Metric{Type: "hook_c10d_metric", Name: "gloo_sparse_allreduce"}, "all-reduce, sparse, blocking",
		"the same while the backward pass blocks"},
	{breakdown.Metric{Type: dataparallel.StagingMetric, Name: dataparallel.CopyOut}, "copy out of the engine",
		"from a bucket's first gradient until all of them are copied from the engine's memory to the bucket"},
	{breakdown.Metric{Type: dataparallel.StagingMetric, Name: dataparallel.CopyIn}, "copy into the engine",
		"a reduced bucket is copied back to the engine's memory"},
	{breakdown.Metric{Type: dataparallel.StagingMetric, Name: dataparallel.Bus}, "bus",
		"bytes of buckets that were copied between an engine's memory and ordinary memory"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device iteration"}, "device: iteration",
		"an iteration of a CUDA rank from the forward pass's first kernel to the last one of its step, by events on the device; without a step of its own, to its last piece of work"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device forward"}, "device: forward",
		"a CUDA rank's forward pass, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device loss"}, "device: loss",
		"the loss, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device loss gradient"}, "device: loss gradient",
		"the loss gradient, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device backward"}, "device: backward",
		"a CUDA rank's backward pass, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device exchange"}, "device: exchange",
		"from the end of the backward pass until peers and groups have finished with the remaining buckets on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device optimizer"}, "device: optimizer",
		"a CUDA rank's optimizer steps, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device evaluation"}, "device: evaluation",
		"the forward pass and the loss of a held-out batch, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device copy out"}, "device: copy out",
		"gradients are copied to ordinary memory, or in a server the mean of a bucket is, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device copy in"}, "device: copy in",
		"gradients or means are copied back to the device, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device transfer in"}, "device: transfer in",
		"a batch's inputs, such as features and targets, are copied to the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device transfer out"}, "device: transfer out",
		"a batch's outputs, such as losses, are copied to ordinary memory"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device average"}, "device: average",
		"a server's mean of a bucket, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device lookup"}, "device: lookup",
		"a server's lookup of rows in its table, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device scatter"}, "device: scatter",
		"gradients of bags are added up for the rows of a server's table, by events on the device"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device update"}, "device: update",
		"a server's whole update of what it holds: of a table from its gradients' copies in, of parameters from the mean, to the end of the step"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device sum"}, "device: sum",
		"a rank's share of a group's sum of a bucket, by events on the device; with NCCL, the whole sum including the wait for peers"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "launches"}, "device: launches",
		"kernels, cuBLAS products, copies and clears on the device per iteration"},
	{breakdown.Metric{Type: breakdown.DeviceMetric, Name: "device clock error"}, "device: clock error",
		"maximum error of a device's times, in µs, after conversion to the other ranks' clock"},
	{breakdown.Metric{Type: "backward_metric", Name: "backward"}, "backward to reduced",
		"backward and exposed communication together, as in the original"},
	{breakdown.Metric{Type: "update_metric", Name: "embedding_update"}, "update of tables",
		"from the push of the looked-up rows' gradients until all servers have applied them"},
	{breakdown.Metric{Type: "batch_update_metric", Name: "fetching the model"}, "fetching the model",
		"from the request for the server's parameters until they arrive"},
	{breakdown.Metric{Type: "batch_update_metric", Name: "processing one batch"}, "forward and backward",
		"from the start of the forward pass until the gradients are complete"},
	{breakdown.Metric{Type: "batch_update_metric", Name: "reporting grads"}, "report to new parameters",
		"from the complete gradients until the updated parameters are in the model"},
	{breakdown.Metric{Type: "epoch_metric", Name: "epoch"}, "epoch", "all iterations of an epoch"},
	{breakdown.Metric{Type: "evaluation_metric", Name: "evaluate"}, "evaluation",
		"a trainer evaluates its held-out samples after an epoch"},

	{breakdown.Metric{Type: "parameter_server_straggler_metric", Name: "param_index_straggler"},
		"server: straggler wait",
		"from the first trainer's gradient of a bucket to the last one's; an asynchronous server has none"},
	{breakdown.Metric{Type: "parameter_server_batch_metric", Name: "param_index_batch"},
		"server: push to reply",
		"from the first trainer's gradient of a bucket until all trainers have their replies; on an asynchronous server, from each gradient to its own reply"},
	{breakdown.Metric{Type: "embedding_metric", Name: "lookup"}, "server: lookup",
		"from the arrival of a request for rows until the rows are written"},
	{breakdown.Metric{Type: "embedding_metric", Name: "update"}, "server: update",
		"from the arrival of gradients of rows until they are applied"},
	{breakdown.Metric{Type: "batch_update_metric", Name: "got update"}, "server: gradients added",
		"from the arrival of a trainer's gradients until they are added"},
	{breakdown.Metric{Type: "batch_update_metric", Name: "updated model"}, "server: optimizer",
		"the server's optimizer steps"},
}

// The row rest has the time outside all parts. The rows hookRow and waitRow stand below the part that contains them.
const (
	rest    = "rest"
	hookRow = "  hook"
	waitRow = "  straggler wait"
)

// computation is the metric type of a server's computations. The server chooses their names.
const computation = "method_metric"

func iterationMetric(name string) breakdown.Metric {
	return breakdown.Metric{Type: dataparallel.IterationMetric, Name: name}
}

// termOf returns the term of a metric. An unknown metric keeps its own name.
func termOf(m breakdown.Metric) term {
	for _, t := range terms {
		if t.metric == m {
			return t
		}
	}
	if m.Type == computation {
		return term{m, "server: " + m.Name, "the server's computation on a bucket after its last gradient"}
	}
	return term{metric: m, name: m.Type + "," + m.Name}
}

// proseWidth is the width at which sentences wrap if there is no terminal.
const proseWidth = 100

// explain writes the meaning of a row, and the type and name of its measurements.
func explain(w *screen.Page, t term) {
	const indent = 31
	text := t.means
	if t.metric != (breakdown.Metric{}) {
		text += " (" + t.metric.Type + "," + t.metric.Name + ")"
	}
	page := &screen.Page{Width: cmp.Or(w.Width, proseWidth)}
	page.Line(indent, fmt.Sprintf("%-*s%s", indent, t.name, text))
	_, _ = page.WriteTo(w) // writing to memory cannot fail
}

// legend writes the meaning of the rows of a run. It omits rows that psbench does not know.
func legend(w *screen.Page, metrics []*durations, b *breakdown.Breakdown) {
	w.Line(0, "")
	w.Title("what the rows are")
	for _, t := range terms {
		computed := b != nil && t.metric == (breakdown.Metric{})
		if t.name == hookRow {
			computed = computed && showsHook(b)
		}
		if computed && (b.Waiting != nil || t.name == rest || t.name == hookRow) ||
			slices.ContainsFunc(metrics, func(m *durations) bool { return m.Metric == t.metric }) {
			explain(w, t)
		}
	}
	for _, m := range metrics {
		if m.Type == computation {
			explain(w, termOf(m.Metric))
		}
	}
}

// Legend writes the meaning of every possible row of the table of all ranks.
func Legend(w *screen.Page) {
	w.Text("The rows of the table of all ranks, in ms; in parentheses the type and the name\nthat their measurements have in other tables and in result files:\n")
	for _, t := range append(slices.Clone(terms),
		termOf(breakdown.Metric{Type: computation, Name: "average computation"})) {
		explain(w, t)
	}
	w.Text("\nThe rows of the table below it, not in ms, are what parts record that is no\nduration, each with its unit. A counter has its sum over all ranks as its count,\na gauge the statistics of what was observed. A histogram has the count of its\nvalues, and in the other columns buckets: ≤ 8 is the one that ends with 8.")
	w.Text("\ndocs/metrics.md says from when to when each is measured.")
}
