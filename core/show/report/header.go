package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// line writes one labelled line of the header or the totals.
func line(w *screen.Page, label, text string) {
	if text != "" {
		w.Line(12, fmt.Sprintf("%-11s %s", label, text))
	}
}

func header(w *screen.Page, r *result.Result) {
	information(w, r.Environment)
	title(w, "experiment")
	line(w, "started", r.Started.UTC().Format(time.RFC3339))
	line(w, "parts", settings(r, "trainer", "server", "ddp_hook", "create_criterion", "model", "data"))
	line(w, "world", world(r.Processes))
	keys := slices.DeleteFunc([]string{"epochs", "iterations", "seconds", "warmup", "warmup_cycles", "batch_size", "torch_seed", "backend"}, func(key string) bool {
		return key == "batch_size" && r.Data.OwnBatches || key == "warmup" && configured(r, key) == "full"
	})
	line(w, "settings", settings(r, keys...))
	line(w, "transport", r.Transport)
	line(w, "links", Links(r.Links))
	line(w, "group", r.Group)
	line(w, "data", partition(r.Data))
	line(w, "", besides(r.Data))
	if d := r.Data.DroppedBatches; d > 0 {
		line(w, "", fmt.Sprintf("dropped %s per epoch so that connected trainers run equally many", batches(d)))
	}
}

// heading says in two lines what ran.
func heading(w *screen.Page, r *result.Result) {
	list := func(parts ...string) {
		w.Line(2, strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", "))
	}
	list(settings(r, "trainer", "server", "ddp_hook"), configured(r, "model"), configured(r, "data"))
	list(world(r.Processes), r.Transport, epochsOf(r))
}

// epochsOf says how long the pass was and how much data there is, e.g. "5 epochs of 10
// batches of ≤ 10 samples".
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
		{"epochs", "epoch of", "epochs of"}, {"iterations", "iteration over", "iterations over"}, {"seconds", "second over", "seconds over"},
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

// title begins a block of labelled lines.
func title(w *screen.Page, text string) {
	w.Line(0, text)
	w.Line(0, strings.Repeat("-", len(text)))
}

// widest is how many columns a line of the GPU topology may have.
const widest = 120

// information says what ran on what machine.
func information(w *screen.Page, e result.Environment) {
	title(w, "information")
	line(w, "psbench", fmt.Sprintf("%s, commit %s, %s, %s/%s, kernel %s", e.Psbench, e.Commit, e.Go, e.OS, e.Arch, e.Kernel))
	line(w, "CPU", fmt.Sprintf("%s, %s, kernels %s", e.CPU, screen.Count(e.Cores, "core"), e.SIMD))
	line(w, "", tuning(e.Facts))
	line(w, "memory", fmt.Sprintf("%d MiB%s", e.MemoryMiB, bandwidth(e.Copy)))
	line(w, "limits", limits(e.Limits))
	for _, b := range e.BLAS {
		line(w, "BLAS", quote.Message(describeBLAS(b))) // what plugins say
	}
	for _, g := range e.GPUs {
		line(w, "GPU", fmt.Sprintf("%s, %d MiB, driver %s", g.Name, g.MemoryMiB, g.Driver))
	}
	if len(e.GPUs) == 0 {
		line(w, "GPU", "no GPU")
	}
	cuda(w, e.CUDA)
	topology(w, e.GPUTopology)
	w.Line(0, "")
}

// cuda says what the driver showed to the CUDA ranks.
func cuda(w *screen.Page, l *devices.List) {
	if l == nil {
		return
	}
	mps := "no MPS"
	if l.MPS.Used {
		mps = "MPS"
	}
	line(w, "CUDA", quote.Message(fmt.Sprintf("driver of CUDA %s, %s (%s)", devices.Version(l.Driver), mps, l.MPS.Known)))
	for _, d := range l.Devices {
		line(w, "", quote.Message(fmt.Sprintf("%s %s, %d MiB, compute capability %s, mode %s", d.ID(), d.Name, d.MemoryMiB, d.Capability, d.Mode)))
	}
}

// tuning says which CPUs may be used, how they are tuned and what caches they have.
func tuning(f machine.Facts) string {
	var parts []string
	if f.Affinity != "" {
		parts = append(parts, "CPUs "+f.Affinity)
	}
	if f.Governor != "" {
		parts = append(parts, "governor "+f.Governor)
	}
	for _, c := range f.Caches {
		parts = append(parts, c.String())
	}
	return quote.Message(strings.Join(parts, ", "))
}

func bandwidth(c *machine.Copy) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(", which %s copied at %.1f GB/s", screen.Count(c.Cores, "core"), c.GBps)
}

// limits are those of cgroups, "" without any.
func limits(l *machine.Limits) string {
	var parts []string
	if l != nil && l.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g CPUs", l.CPUs))
	}
	if l != nil && l.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", l.MemoryBytes>>20))
	}
	return strings.Join(parts, ", ")
}

func describeBLAS(b result.BLAS) string {
	text := b.Engine
	if b.Library != "" {
		text += " (" + b.Library + ")"
	}
	threads := b.Threads + " threads"
	if b.Threads == "1" {
		threads = "1 thread"
	}
	return fmt.Sprintf("%s, core %s, %s", text, b.Core, threads)
}

// topology writes the matrix of nvidia-smi without its legend.
func topology(w *screen.Page, text string) {
	matrix, _, _ := strings.Cut(text, "\n\n")
	if matrix == "" {
		return
	}
	var grid bytes.Buffer
	aligned := tabwriter.NewWriter(&grid, 0, 0, 2, ' ', 0)
	for row := range strings.Lines(matrix) {
		cells := strings.Split(strings.TrimRight(row, " \t\r\n"), "\t")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		_, _ = fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	_ = aligned.Flush() // into memory
	columns := widest
	if w.Width > 0 {
		columns = min(columns, w.Width)
	}
	w.Line(2, "GPU topology (nvidia-smi topo -m):")
	for row := range strings.Lines(grid.String()) {
		w.Line(2, cut(strings.TrimRight(row, " \n"), columns))
	}
}

// cut shortens a line to some columns.
func cut(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}

// Machine says what a result was measured on, in one line.
func Machine(e result.Environment) string {
	return fmt.Sprintf("%s, %s, %d MiB, %s/%s, kernel %s", e.CPU, screen.Count(e.Cores, "core"), e.MemoryMiB, e.OS, e.Arch, e.Kernel)
}

// settings lists the configured values of keys, without the keys that the
// result does not have.
func settings(r *result.Result, keys ...string) string {
	labels := map[string]string{"ddp_hook": "hook", "create_criterion": "criterion", "batch_size": "batch size", "torch_seed": "seed", "warmup": "warm-up", "warmup_cycles": "warm-up epochs"}
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

// configured is the value of a configuration key, or "".
func configured(r *result.Result, key string) string {
	i := slices.IndexFunc(r.Config, func(v result.Value) bool { return v.Key == key })
	if i < 0 {
		return ""
	}
	if s, ok := r.Config[i].Value.(string); ok {
		return s
	}
	// JSON's spelling of a number is the same before and after a round trip.
	text, err := json.Marshal(r.Config[i].Value)
	if err != nil {
		return fmt.Sprint(r.Config[i].Value)
	}
	return string(text)
}

// world says how many ranks of each kind there are, as in "2 trainers, 1 server".
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

// partition says how the data became batches, e.g. "10 batches of up to 10 samples
// partitioned among 4 trainers: 3, 3, 2, 2 per epoch".
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

// besides says what else happens to the data, e.g. "read anew in every epoch, 2000
// samples held out".
func besides(d result.Partition) string {
	var parts []string
	if d.Streamed {
		parts = append(parts, "read anew in every epoch")
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
