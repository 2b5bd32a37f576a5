//go:build nvidia

package compute_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// The number of the host's waits for the device does not depend on the number of layers: an iteration waits neither
// per layer nor per parameter. The double counts driver calls that wait and copies that are not asynchronous.
// Staging waits once per bucket, so the models then have one bucket.
func TestWaitsDoNotGrowWithLayers(t *testing.T) {
	file := writeRegistry(t)
	model := small[:len(small)-2] // without its epochs
	for _, c := range []struct {
		name, server string
		arguments    []string
	}{
		{"a server that shares", "cuda_average", []string{"--ntrainer", "2", "--nserver", "1"}},
		{"a group that shares", "", []string{"--ntrainer", "2", "--nserver", "0"}},
		{"a group that is staged", "",
			[]string{"--ntrainer", "2", "--nserver", "0", "--transport", "unix", "--set",
				"trainer.bucket_bytes=100000000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each := func(layers int) float64 {
				const iterations = 3
				var waits [2]int64
				var trained [2]int
				for i := range waits {
					dir := reports(t)
					got := run(t,
						slices.Concat([]string{"--trainer", "cuda_ddp", "--registry", file}, model, c.arguments,
							[]string{"--set", fmt.Sprintf("model.dense_layers_count=%d", layers), "--iterations",
								fmt.Sprint(1 + iterations*i), "--warmup", "none"}), c.server)
					if files, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(files) == 0 {
						t.Skip("a GPU counts no calls")
					}
					waits[i] = total(t, dir, "synchronizations")
					for _, losses := range got.Losses {
						trained[i] += len(losses)
					}
				}
				return float64(waits[1]-waits[0]) / float64(trained[1]-trained[0])
			}
			few, many := each(2), each(8)
			t.Logf("an iteration waits %g times with 2 layers, %g with 8", few, many)
			if few != many {
				t.Errorf("an iteration waits %g times with 2 layers but %g with 8", few, many)
			}
		})
	}
}
