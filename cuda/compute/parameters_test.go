//go:build nvidia

package compute_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/internal/host/record"
)

// layered is a model of several buckets. The largest bucket has 4*layeredBucket bytes.
var layered = []string{"--set", "model.sizes=[100,50,40,10]", "--set", "trainer.bucket_bytes=2000", "--set",
	"server.lr=0.02", "--batch-size", "6"}

const layeredBucket = 100 * 50

// Server batch_update and its trainers on one device share gradients and parameters there, in any order of stream
// work. The losses match the host's, no bucket crosses the bus, and nothing is left allocated.
func TestRunsShareParameters(t *testing.T) {
	file := writeRegistry(t)
	for i, c := range []struct {
		name      string
		arguments []string
	}{
		{"three trainers", []string{"--ntrainer", "3", "--nserver", "1"}},
		{"two servers", []string{"--ntrainer", "4", "--nserver", "2"}},
		{"adam", []string{"--ntrainer", "2", "--nserver", "1", "--set", "server.optimizer=adam"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			arguments := slices.Concat(layered, c.arguments, []string{"--epochs", "2"})
			want := run(t, append(arguments, "--trainer", "batch_update"), "batch_update")
			inOrders(t, i, func(dir string) {
				got := run(t, append(arguments, "--trainer", "cuda_update", "--registry", file), "cuda_batch_update")
				near(t, got, want)
				stays(t, got)
				measured(t, got, false)
				for rank := len(got.Losses); rank < len(got.Processes)-1; rank++ { // all processes except data
					updates, _ := spans(got, rank, "updated model")
					if n, total := spans(got, rank, "device optimizer"); updates > 0 && (n != updates || total <= 0) {
						t.Errorf("server %d measured %d steps, of %d ns in all, of %d updates", rank, n, total, updates)
					}
				}
				total(t, dir, "launches")
			})
		})
	}
}

// The double's counts confirm this: more batches copy nothing off the device except their losses.
func TestNoParameterCrossesTheBus(t *testing.T) {
	file := writeRegistry(t)
	out := func(arguments ...string) int64 {
		dir := reports(t)
		run(t, slices.Concat([]string{"--ntrainer", "2", "--nserver", "1", "--trainer", "cuda_update", "--registry",
			file}, layered, arguments), "cuda_batch_update")
		if files, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(files) == 0 {
			t.Skip("a GPU counts no copies")
		}
		return total(t, dir, "bytes_out")
	}
	const epochs = 2
	shared := out("--epochs", "4") - out("--epochs", fmt.Sprint(4-epochs))
	staged := out("--epochs", "4", "--transport", "unix") - out("--epochs", fmt.Sprint(4-epochs), "--transport", "unix")
	if bucket := int64(4 * layeredBucket); shared <= 0 || shared >= bucket || staged < 2*bucket {
		t.Errorf("%d epochs copy %d bytes off the device, which must be less than a bucket of %d, and staged %d",
			epochs, shared, bucket, staged)
	}
}

// If a server is on the same card as only one of its trainers, it shares memory with that trainer alone.
func TestServerSharesWithSomeTrainers(t *testing.T) {
	computetest.OnDouble(t)
	t.Setenv("PSBENCH_DOUBLE_DEVICES", "2")
	t.Setenv("PSBENCH_DOUBLE_EXIT", "97")
	arguments := slices.Concat(layered, []string{"--trainer", "batch_update"})
	want := run(t, append(arguments, "--ntrainer", "2", "--nserver", "1"), "batch_update")
	for _, streams := range []string{"latest", "random"} {
		t.Setenv("PSBENCH_DOUBLE_STREAMS", streams)
		dir := reports(t)
		got := run(t, append(arguments, "--ntrainer", "0", "--nserver", "0", "--ncudatrainer", "2", "--ncudaserver",
			"1"), "batch_update")
		near(t, got, want)
		for name, fact := range map[string]string{
			"trainer0": record.BucketsShared,
			"trainer1": "staged: trainer1 and server2: they are on different devices, ",
			"server2":  "staged for trainer1: ",
		} {
			i := slices.IndexFunc(got.Processes, func(p process) bool { return p.Name == name })
			if !strings.HasPrefix(got.Processes[i].Facts[record.FactBuckets], fact) {
				t.Errorf("the buckets of %s are %q, want %q", name, got.Processes[i].Facts[record.FactBuckets], fact)
			}
		}
		for _, c := range got.Counters {
			if c.Name == "bus" && (c.Value == 0) != (c.Rank == 0) {
				t.Errorf("rank %d copied %d bytes of buckets", c.Rank, c.Value)
			}
		}
		total(t, dir, "launches")
	}
}
