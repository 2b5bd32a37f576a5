package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/result"
)

// line writes one labelled line of the header or the totals.
func line(w *bytes.Buffer, label, text string) {
	if text != "" {
		fmt.Fprintf(w, "%-11s %s\n", label, text)
	}
}

func header(w *bytes.Buffer, r *result.Result) {
	e := r.Environment
	line(w, "psbench", fmt.Sprintf("%s, %s, %s", e.Psbench, e.Go, r.Started.UTC().Format(time.RFC3339)))
	line(w, "parts", settings(r, "trainer", "server", "ddp_hook", "create_criterion", "model", "data"))
	line(w, "world", world(r.Processes))
	line(w, "settings", settings(r, "epochs", "batch_size", "torch_seed", "backend"))
	line(w, "transport", r.Transport)
	line(w, "machine", Machine(e))
	line(w, "data", deal(r.Data, configured(r, "batch_size")))
	if d := r.Data.DroppedBatches; d > 0 {
		line(w, "", fmt.Sprintf("dropped %s per epoch so that connected trainers run equally many", batches(d)))
	}
}

// Machine says what a result was measured on, in one line.
func Machine(e result.Environment) string {
	return fmt.Sprintf("%s, %s, %d MiB, %s/%s, kernel %s", e.CPU, count(e.Cores, "core"), e.MemoryMiB, e.OS, e.Arch, e.Kernel)
}

// settings lists the configured values of keys, without the keys that the
// result does not have.
func settings(r *result.Result, keys ...string) string {
	labels := map[string]string{"ddp_hook": "hook", "create_criterion": "criterion", "batch_size": "batch size", "torch_seed": "seed"}
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

func world(processes []result.Process) string {
	trainers, servers := len(ranksOf(processes, "trainer")), len(ranksOf(processes, "server"))
	switch {
	case trainers+servers == 0:
		return ""
	case servers == 0:
		return count(trainers, "trainer") + ", no server"
	}
	return count(trainers, "trainer") + ", " + count(servers, "server")
}

// deal says how the data became batches, e.g. "10 batches of up to 10 samples
// dealt to 4 trainers: 3, 3, 2, 2 per epoch".
func deal(d result.Deal, batchSize string) string {
	if len(d.BatchesPerTrainer) == 0 {
		return ""
	}
	size := ""
	if batchSize != "" {
		size = " of up to " + batchSize + " samples"
	}
	shares := strings.Trim(strings.ReplaceAll(fmt.Sprint(d.BatchesPerTrainer), " ", ", "), "[]")
	return fmt.Sprintf("%s%s dealt to %s: %s per epoch",
		batches(d.Batches), size, count(len(d.BatchesPerTrainer), "trainer"), shares)
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return fmt.Sprintf("%d batches", n)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
