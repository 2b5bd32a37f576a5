//go:build nvidia

package compute_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metric is a host metric in the table of testdata/host-metrics.txt.
type metric struct{ kind, name string }

// beside lists the device metrics that correspond to a host metric. Some may be missing if a reason is given.
type beside struct {
	series  []string
	missing string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// hostMetrics is a table of host metrics with the device series beside each of them.
const hostMetrics = "testdata/host-metrics.txt"

// documented returns the rows of hostMetrics.
func documented(t *testing.T) map[metric]beside {
	t.Helper()
	page, err := os.ReadFile(hostMetrics)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page),
		"| host metric | device series beside it | what of it has none, and why |\n|---|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of metrics", hostMetrics)
	}
	rows := map[metric]beside{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			t.Fatalf("%s has a row of %d cells, want 3: %s", hostMetrics, len(cells)-2, line)
		}
		var names, series []string
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			names = append(names, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			series = append(series, m[1])
		}
		missing := strings.TrimSpace(cells[3])
		if len(names) < 2 || len(series) == 0 && missing == "" {
			t.Fatalf("%s has a row without a type, a name, and a series or a reason: %s", hostMetrics, line)
		}
		for _, name := range names[1:] {
			rows[metric{names[0], name}] = beside{series, missing}
		}
	}
	return rows
}

// recordedBy returns the metrics that a rank recorded on its device, and those of its host.
func recordedBy(r result, rank int) (onDevice []string, byHost []metric) {
	for _, s := range r.Series {
		switch {
		case s.Rank != rank || len(s.DurationNS) == 0:
		case s.Type == "device_metric":
			onDevice = append(onDevice, s.Name)
		default:
			byHost = append(byHost, metric{s.Type, s.Name})
		}
	}
	for _, c := range r.Counters {
		if c.Rank == rank {
			byHost = append(byHost, metric{c.Type, c.Name})
		}
	}
	return onDevice, byHost
}

// Every host metric of a CUDA rank has a corresponding device metric, or testdata/host-metrics.txt explains why not.
// The table there lists exactly these metrics.
func TestHostTimesHaveDeviceTimesBesideThem(t *testing.T) {
	rows, file := documented(t), writeRegistry(t)
	seen := map[metric]bool{}
	ddp := func(more ...string) []string {
		return slices.Concat([]string{"--trainer", "cuda_ddp", "--ntrainer", "2", "--set", "trainer.bucket_bytes=2000"},
			evaluated(t), more)
	}
	for _, c := range []struct {
		name, server string
		arguments    []string
	}{
		{"a server", "cuda_average", ddp("--nserver", "1", "--set", "model.sparse=true")},
		{"a server that buckets are staged for", "cuda_average", ddp("--nserver", "1", "--transport", "unix")},
		{"a group", "", ddp("--nserver", "0")},
		{"sparse buckets in a group", "",
			ddp("--nserver", "0", "--ddp-hook", "allreduce", "--set", "model.sparse=true")},
		{"two groups", "", ddp("--nserver", "0", "--ddp-hook", "hybrid", "--set", "model.sparse=true")},
		{"tables", "cuda_embedding", []string{"--trainer", "cuda_hybrid", "--ntrainer", "2", "--nserver", "2",
			"--epochs", "1", "--set", "data.batches=3", "--set", "server.embedding_dim=256"}},
		{"parameters", "cuda_batch_update",
			[]string{"--trainer", "cuda_update", "--ntrainer", "2", "--nserver", "1", "--epochs", "1"}},
	} {
		r := run(t, append(c.arguments, "--registry", file, "--warmup", "none"), c.server)
		for _, p := range r.Processes {
			if p.Facts["engine"] != "cuda:0" {
				continue
			}
			onDevice, byHost := recordedBy(r, p.Rank)
			for _, m := range byHost {
				row, known := rows[m]
				seen[m] = true
				switch {
				case !known:
					t.Errorf("%s: %s records %v, which %s lacks", c.name, p.Name, m, hostMetrics)
				case row.missing == "" &&
					!slices.ContainsFunc(onDevice, func(s string) bool { return slices.Contains(row.series, s) }):
					t.Errorf("%s: %s records %v, and its device none of %q but %q", c.name, p.Name, m, row.series,
						onDevice)
				}
			}
			for _, whole := range []string{"device iteration", "device update"} {
				wholesAreRight(t, r, p.Rank, whole)
			}
		}
	}
	for m := range rows {
		if !seen[m] {
			t.Errorf("%s has %v, which no run records", hostMetrics, m)
		}
	}
}

// evaluated returns the arguments of a small model that learns from samples. A quarter of the samples is held out.
func evaluated(t *testing.T) []string {
	t.Helper()
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, "{\"input\": [%d, %d], \"target\": %d}\n", i%16, (i+5)%16, i%8)
	}
	path := filepath.Join(t.TempDir(), "samples.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"--data", "file", "--set", "data.path=" + path, "--set", "data.held_out=0.25", "--batch-size",
		"10", "--epochs", "2"}
	for _, s := range []string{"num_embeddings=16", "embedding_dim=24", "dense_input_size=24", "dense_output_size=24",
		"dense_layers_count=2"} {
		arguments = append(arguments, "--set", "model."+s)
	}
	return arguments
}

// wholesAreRight requires that all phases of an iteration lie within it, and that iterations do not overlap. The
// same holds for updates.
func wholesAreRight(t *testing.T, r result, rank int, name string) {
	t.Helper()
	phases := map[string][]string{
		"device iteration": {"device forward", "device loss", "device loss gradient", "device backward",
			"device optimizer"},
		"device update": {"device scatter", "device optimizer"},
	}
	wholes := keyed(r, rank, name)
	if len(wholes) == 0 {
		return
	}
	var all []span
	for key, whole := range wholes {
		all = append(all, whole...)
		for _, phase := range phases[name] {
			for _, s := range keyed(r, rank, phase)[key] {
				if len(whole) != 1 || s.from < whole[0].from || s.to > whole[0].to {
					t.Errorf("rank %d has %q %v, which is not in %q %v", rank, phase, s, name, whole)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.from - b.from) })
	for i := range all[1:] {
		if all[i+1].from < all[i].to {
			t.Errorf("rank %d has %q %v and %v at the same time", rank, name, all[i], all[i+1])
		}
	}
}
