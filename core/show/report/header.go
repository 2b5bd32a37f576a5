package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/environment"
	"github.com/psbench/psbench/internal/screen"
)

func header(w *screen.Page, r *result.Result) {
	environment.Information(w, r.Environment)
	w.Title("experiment")
	w.Labelled("started", r.Started.UTC().Format(time.RFC3339))
	w.Labelled("parts", settings(r, "trainer", "server", "ddp_hook", "create_criterion", "model", "data"))
	w.Labelled("world", world(r.Processes))
	keys := slices.DeleteFunc([]string{"epochs", "iterations", "seconds", "warmup", "warmup_cycles", "batch_size",
		"torch_seed", "backend"}, func(key string) bool {
		return key == "batch_size" && r.Data.OwnBatches || key == "warmup" && configured(r, key) == "full"
	})
	w.Labelled("settings", settings(r, keys...))
	w.Labelled("transport", r.Transport)
	w.Labelled("links", environment.Links(r.Links))
	w.Labelled("group", r.Group)
	w.Labelled("data", partition(r.Data))
	w.Labelled("", besides(r.Data))
	if d := r.Data.DroppedBatches; d > 0 {
		w.Labelled("", fmt.Sprintf("dropped %s per epoch so that connected trainers run equally many", batches(d)))
	}
}

// heading writes two lines that describe the run.
func heading(w *screen.Page, r *result.Result) {
	list := func(parts ...string) {
		w.Line(2, strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", "))
	}
	list(settings(r, "trainer", "server", "ddp_hook"), configured(r, "model"), configured(r, "data"))
	list(world(r.Processes), r.Transport, epochsOf(r))
}

// epochsOf describes the length of the pass and the amount of data, e.g. "5 epochs of 10 batches of ≤ 10 samples".
func epochsOf(r *result.Result) string {
	d := r.Data
	if len(d.BatchesPerTrainer) == 0 {
		return ""
	}
	text := batches(d.Batches)
	if d.LargestBatch > 0 {
		text += " of ≤ " + screen.Count(d.LargestBatch, "sample")
	}
	if d.DroppedBatches > 0 {
		text += fmt.Sprintf(" (%d dropped)", d.DroppedBatches)
	}
	for _, length := range []struct{ key, one, many string }{
		{"epochs", "epoch of", "epochs of"}, {"iterations", "iteration over", "iterations over"},
		{"seconds", "second over", "seconds over"},
	} {
		switch n := configured(r, length.key); n {
		case "":
		case "1":
			return "1 " + length.one + " " + text
		default:
			return n + " " + length.many + " " + text
		}
	}
	return text
}

// settings lists the configured values of the given keys. It skips keys that the result lacks.
func settings(r *result.Result, keys ...string) string {
	labels := map[string]string{"ddp_hook": "hook", "create_criterion": "criterion", "batch_size": "batch size",
		"torch_seed": "seed", "warmup": "warm-up", "warmup_cycles": "warm-up epochs"}
	var found []string
	for _, key := range keys {
		value := configured(r, key)
		if value == "" {
			continue
		}
		if label, ok := labels[key]; ok {
			key = label
		}
		found = append(found, key+" "+value)
	}
	return strings.Join(found, ", ")
}

// configured returns the value of a configuration key, or "".
func configured(r *result.Result, key string) string {
	i := slices.IndexFunc(r.Config, func(v result.Value) bool { return v.Key == key })
	if i < 0 {
		return ""
	}
	return r.Config[i].Text()
}

// world returns the number of ranks of each kind, e.g. "2 trainers, 1 server".
func world(processes []result.Process) string {
	var parts []string
	for _, kind := range []string{"trainer", "server"} {
		ranks := ranksOf(processes, kind)
		onCUDA := len(slices.DeleteFunc(slices.Clone(ranks), func(p result.Process) bool { return p.Device == "" }))
		if n := len(ranks) - onCUDA; n > 0 {
			parts = append(parts, screen.Count(n, kind))
		}
		if onCUDA > 0 {
			parts = append(parts, screen.Count(onCUDA, "CUDA "+kind))
		}
		if len(ranks) == 0 && parts != nil {
			parts = append(parts, "no "+kind)
		}
	}
	return strings.Join(parts, ", ")
}

// partition describes how the data was split into batches, e.g. "10 batches of up to 10 samples partitioned among 4
// trainers: 3, 3, 2, 2 per epoch".
func partition(d result.Partition) string {
	if len(d.BatchesPerTrainer) == 0 {
		return ""
	}
	size := ""
	if d.LargestBatch > 0 {
		size = " of up to " + screen.Count(d.LargestBatch, "sample")
	}
	shares := strings.Trim(strings.ReplaceAll(fmt.Sprint(d.BatchesPerTrainer), " ", ", "), "[]")
	return fmt.Sprintf("%s%s, partitioned among %s: %s per epoch",
		batches(d.Batches), size, screen.Count(len(d.BatchesPerTrainer), "trainer"), shares)
}

// besides describes further treatment of the data, e.g. "read again in every epoch, 2000 samples held out".
func besides(d result.Partition) string {
	var parts []string
	if d.Streamed {
		parts = append(parts, "read again in every epoch")
	}
	if d.HeldOut > 0 {
		parts = append(parts, screen.Count(d.HeldOut, "sample")+" held out")
	}
	return strings.Join(parts, ", ")
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}
