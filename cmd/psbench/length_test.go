package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/record/result"
)

// small are flags of a model whose iterations take well under 1 ms.
const small = " --set model.num_embeddings=100 --set model.embedding_dim=100 --set model.dense_input_size=100 --set model.dense_output_size=100"

// lasting runs an experiment with the given flags for its length.
func lasting(t *testing.T, flags string) *result.Result {
	t.Helper()
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatalf("%s: %v", flags, err)
	}
	return res
}

// iterations returns the number of measured iterations of each trainer.
func iterations(res *result.Result) (counts []int) {
	for _, losses := range res.Losses {
		counts = append(counts, len(losses))
	}
	return counts
}

// setting returns a configuration value of a result with its origin.
func setting(res *result.Result, key string) string {
	for _, v := range res.Config {
		if v.Key == key {
			return fmt.Sprintf("%v, %s", v.Value, v.Origin)
		}
	}
	return ""
}

// Every trainer runs the requested number of iterations, however many an epoch has.
func TestSoManyIterations(t *testing.T) {
	for name, flags := range map[string]string{
		"a server":       "--ntrainer 2" + small,
		"no warm-up":     "--ntrainer 3 --transport tcp --warmup none" + small,
		"unequal shares": "--ntrainer 3 --ddp-hook noop --warmup 50" + small,
		"isolated":       "--ntrainer 2 --nserver 0 --isolate all --warmup 7" + small,
		"hybrid":         "--trainer hybrid --number-trainers 2 --warmup-cycles 1",
		"batch_update":   "--trainer batch_update --set server.batch_update_size=2 --warmup 2",
	} {
		t.Run(name, func(t *testing.T) {
			res := lasting(t, "--iterations 37 "+flags)
			if got := iterations(res); slices.Min(got) != 37 || slices.Max(got) != 37 {
				t.Errorf("the trainers measured %d iterations", got)
			}
			if len(res.Warnings) > 0 && strings.Contains(strings.Join(res.Warnings, ""), "iterations") {
				t.Errorf("warnings %q", res.Warnings)
			}
			if res.StartMS <= 0 || setting(res, "iterations") != "37, flag --iterations" ||
				setting(res, "epochs") != "" {
				t.Errorf("started after %g ms, %s, %s", res.StartMS, setting(res, "iterations"), setting(res, "epochs"))
			}
		})
	}
}

// A run of a few iterations equals, bit for bit, the first iterations of a run of whole epochs. The keys are equal,
// too.
func TestIterationsAreThoseOfEpochs(t *testing.T) {
	const flags = " --set data.sample_count=60" + small // 3 batches per epoch for each trainer
	epochs := lasting(t, "--epochs 5"+flags)
	if got := iterations(epochs); !slices.Equal(got, []int{15, 15}) {
		t.Fatalf("5 epochs have %d iterations", got)
	}
	keys := func(res *result.Result) (out []string) {
		for _, s := range res.Series {
			if s.Type == "batch_level_metric" {
				for m := range s.All() {
					out = append(out, fmt.Sprint(s.Rank, m.Key))
				}
			}
		}
		return out
	}
	for _, n := range []int{15, 14} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			cut := lasting(t, fmt.Sprintf("--iterations %d", n)+flags)
			for rank := range epochs.Losses {
				if d := cmp.Diff(epochs.Losses[rank][:n], cut.Losses[rank]); d != "" {
					t.Errorf("%d iterations, trainer %d: %s", n, rank, d)
				}
			}
			if got := keys(cut); len(got) != 2*n || n == 15 && !slices.Equal(got, keys(epochs)) {
				t.Errorf("%d iterations have the keys %v", n, got)
			}
		})
	}
}

// Only complete epochs have a duration.
func TestEpochsThatAreCutShortHaveNoTime(t *testing.T) {
	res := lasting(t, "--trainer hybrid --number-trainers 1 --iterations 25 --warmup 13") // 10 iterations per epoch
	i := slices.IndexFunc(res.Series, func(s *result.Series) bool { return s.Type == "epoch_metric" })
	if i < 0 || res.Series[i].Len() != 2 {
		t.Errorf("25 iterations have epochs %v", res.Series[i])
	}
}

// timed runs a timed pass that lasts longer than an epoch, even on a slow machine.
func timed(t *testing.T, flags string) *result.Result {
	t.Helper()
	var res *result.Result
	for _, seconds := range []string{"0.5", "5", "50"} {
		res = lasting(t, "--seconds "+seconds+" "+flags)
		if slices.Max(iterations(res)) > slices.Max(res.Data.BatchesPerTrainer) {
			return res
		}
	}
	t.Fatalf("%s: %d iterations are not more than an epoch of %d", flags, iterations(res), res.Data.BatchesPerTrainer)
	return nil
}

// Connected trainers all end a timed pass after the same iteration.
func TestConnectedTrainersStopTogether(t *testing.T) {
	cases := map[string]string{
		"a server":      "--ntrainer 3" + small,
		"allreduce":     "--ntrainer 2 --nserver 0" + small,
		"two servers":   "--ntrainer 4 --nserver 2 --warmup none" + small,
		"isolated hook": "--ntrainer 2 --isolate hook" + small,
		"hybrid":        "--trainer hybrid --number-trainers 2",
		"batch_update":  "--trainer batch_update",
	}
	if raceDetector {
		maps.DeleteFunc(cases, func(name, _ string) bool { return name != "a server" && name != "batch_update" })
	}
	transports := []string{"shm", "tcp"}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		for j, transport := range transports {
			if leftOut(i, j, len(transports)) {
				continue
			}
			t.Run(name+"/"+transport, func(t *testing.T) {
				res := timed(t, "--transport "+transport+" "+cases[name])
				got := iterations(res)
				for _, set := range res.Connected {
					for _, rank := range set {
						if got[rank] != got[set[0]] {
							t.Errorf("of the trainers %v one measured %d iterations, another %d", set, got[set[0]],
								got[rank])
						}
					}
				}
			})
		}
	}
}

// Unconnected trainers end a timed pass independently.
func TestTrainersThatNothingConnectsStop(t *testing.T) {
	got := iterations(lasting(t, "--seconds 0.3 --ntrainer 3 --nserver 0 --ddp-hook noop"+small))
	if slices.Min(got) < 1 || len(got) != 3 {
		t.Errorf("the trainers measured %d iterations", got)
	}
}

// Streamed data repeats like other data.
func TestStreamedDataRepeats(t *testing.T) {
	line := "1" + strings.Repeat("\t2", 13) + strings.Repeat("\t68fd1e64", 26) + "\n"
	file := filepath.Join(t.TempDir(), "clicks.tsv")
	if err := os.WriteFile(file, []byte(strings.Repeat(line, 120)), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := " --model dlrm --batch-size 10 --data criteo --set data.path=" + file + " --set data.held_out=0.1"
	for length, res := range map[string]*result.Result{
		"--iterations 12": lasting(t, "--iterations 12 --warmup none"+flags), "--seconds": timed(t, "--warmup 3"+flags),
	} {
		t.Run(length, func(t *testing.T) {
			got := iterations(res)
			per := res.Data.BatchesPerTrainer[0]
			if got[0] != got[1] || per != 5 || !res.Data.Streamed {
				t.Errorf("%s: the trainers measured %d iterations, %d an epoch, of %+v", length, got, per, res.Data)
			}
			if want := (got[0] + per - 1) / per; len(res.Evaluation) != want {
				t.Errorf("%s: %d iterations were evaluated %d times, want %d", length, got[0], len(res.Evaluation),
					want)
			}
		})
	}
}

// Without a given length, each trainer measures at least 20 iterations, and the result states the reason.
func TestDefaultLength(t *testing.T) {
	for flags, want := range map[string]struct {
		iterations int
		epochs     string
	}{
		"--ntrainer 8" + small:   {20, "20, default: 20 iterations per trainer"},
		"--ntrainer 3" + small:   {21, "7, default: 20 iterations per trainer"},
		"--ntrainer 2" + small:   {25, "5, default"},
		"--trainer batch_update": {20, "5, default: 20 iterations per trainer"},
		"--ntrainer 4 --nserver 0 --ddp-hook noop --set data.sample_count=90" + small: {20,
			"10, default: 20 iterations per trainer"}, // the shares are 3, 2, 2 and 2
	} {
		t.Run(fmt.Sprintf("%.60s", flags), func(t *testing.T) {
			res := lasting(t, flags)
			if got := iterations(res); slices.Min(got) != want.iterations || setting(res, "epochs") != want.epochs {
				t.Errorf("%s: %d iterations, epochs %s, want %+v", flags, got, setting(res, "epochs"), want)
			}
		})
	}
	res := lasting(t, "--epochs 1 --warmup none"+small)
	const want = "each trainer measured 5 iterations, fewer than 20, so that a slow one changes the means: give --iterations 20 or more"
	if !slices.Contains(res.Warnings, want) {
		t.Errorf("one epoch gives the warnings %q", res.Warnings)
	}
}

// A long timed pass ends early if a process dies or the user interrupts it, like any other pass.
func TestTimedPassEndsEarly(t *testing.T) {
	start := func(t *testing.T) *faultRun {
		f := startPsbench(t, strings.Fields("--seconds 600 --warmup 7"+small)...)
		f.reach("measured pass")
		return f
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.signal("trainer1", syscall.SIGKILL)
		f.ended("trainer1 (process ", "was killed by signal 9")
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		start(t).interrupt()
	})
}
