package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/run"
)

// small is a model of which an iteration takes well under a ms.
const small = " --set model.num_embeddings=100 --set model.embedding_dim=100 --set model.dense_input_size=100 --set model.dense_output_size=100"

// lasting runs an experiment of some length.
func lasting(t *testing.T, flags string) *result.Result {
	t.Helper()
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatalf("%s: %v", flags, err)
	}
	return res
}

// iterations are how many each trainer measured.
func iterations(res *result.Result) (counts []int) {
	for _, losses := range res.Losses {
		counts = append(counts, len(losses))
	}
	return counts
}

// setting is a value of a result's configuration with its origin.
func setting(res *result.Result, key string) string {
	for _, v := range res.Config {
		if v.Key == key {
			return fmt.Sprintf("%v, %s", v.Value, v.Origin)
		}
	}
	return ""
}

// Every trainer runs as many iterations as it is told to, whatever an epoch has.
func TestSoManyIterations(t *testing.T) {
	for _, flags := range []string{
		"--ntrainer 2" + small,
		"--ntrainer 3 --transport tcp --warmup none" + small,
		"--ntrainer 3 --ddp-hook noop --warmup 50" + small, // of unequal shares
		"--ntrainer 2 --nserver 0 --isolate all --warmup 7" + small,
		"--trainer hybrid --number-trainers 2 --warmup-cycles 1",
		"--trainer batch_update --set server.batch_update_size=2 --warmup 2",
	} {
		t.Run(flags, func(t *testing.T) {
			res := lasting(t, "--iterations 37 "+flags)
			if got := iterations(res); slices.Min(got) != 37 || slices.Max(got) != 37 {
				t.Errorf("the trainers measured %d iterations", got)
			}
			if len(res.Warnings) > 0 && strings.Contains(strings.Join(res.Warnings, ""), "iterations") {
				t.Errorf("warnings %q", res.Warnings)
			}
			if res.StartMS <= 0 || setting(res, "iterations") != "37, flag --iterations" || setting(res, "epochs") != "" {
				t.Errorf("started after %g ms, %s, %s", res.StartMS, setting(res, "iterations"), setting(res, "epochs"))
			}
		})
	}
}

// So many iterations are the first ones of a run of epochs, to the last bit, as is the key of
// each.
func TestIterationsAreThoseOfEpochs(t *testing.T) {
	const flags = " --set data.sample_count=60" + small // 3 batches an epoch for each trainer
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
		cut := lasting(t, fmt.Sprintf("--iterations %d", n)+flags)
		for rank := range epochs.Losses {
			if d := cmp.Diff(epochs.Losses[rank][:n], cut.Losses[rank]); d != "" {
				t.Errorf("%d iterations, trainer %d: %s", n, rank, d)
			}
		}
		if got := keys(cut); len(got) != 2*n || n == 15 && !slices.Equal(got, keys(epochs)) {
			t.Errorf("%d iterations have the keys %v", n, got)
		}
	}
}

// Connected trainers end a timed pass after the same iteration, which is of a later epoch than
// the first.
func TestConnectedTrainersStopTogether(t *testing.T) {
	cases := []string{
		"--ntrainer 3" + small,
		"--ntrainer 2 --nserver 0" + small,
		"--ntrainer 4 --nserver 2 --warmup none" + small,
		"--ntrainer 2 --isolate hook" + small,
		"--trainer hybrid --number-trainers 2",
		"--trainer batch_update",
		"--trainer batch_update --set server.batch_update_size=2",
	}
	transports := []string{"shm", "tcp"}
	if raceDetector {
		cases, transports = []string{cases[0], cases[6]}, transports[:1]
	}
	for _, flags := range cases {
		for _, transport := range transports {
			t.Run(flags+"/"+transport, func(t *testing.T) {
				res := lasting(t, "--seconds 0.5 --transport "+transport+" "+flags)
				got := iterations(res)
				for _, set := range res.Connected {
					for _, rank := range set {
						if got[rank] != got[set[0]] {
							t.Errorf("of the trainers %v one measured %d iterations, another %d", set, got[set[0]], got[rank])
						}
					}
				}
				if most := slices.Max(got); most <= res.Data.BatchesPerTrainer[0] && !raceDetector {
					t.Errorf("%d iterations are not more than an epoch of %d", most, res.Data.BatchesPerTrainer[0])
				}
			})
		}
	}
}

// Trainers that nothing connects end each for itself.
func TestTrainersThatNothingConnectsStop(t *testing.T) {
	got := iterations(lasting(t, "--seconds 0.3 --ntrainer 3 --nserver 0 --ddp-hook noop"+small))
	if slices.Min(got) < 1 || len(got) != 3 {
		t.Errorf("the trainers measured %d iterations", got)
	}
}

// Streamed data repeats as other data does.
func TestStreamedDataRepeats(t *testing.T) {
	line := "1" + strings.Repeat("\t2", 13) + strings.Repeat("\t68fd1e64", 26) + "\n"
	file := filepath.Join(t.TempDir(), "clicks.tsv")
	if err := os.WriteFile(file, []byte(strings.Repeat(line, 120)), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := " --model dlrm --batch-size 10 --data criteo --set data.path=" + file + " --set data.held_out=0.1"
	for _, length := range []string{"--iterations 12", "--seconds 0.5"} {
		res := lasting(t, length+" --warmup none"+flags)
		got := iterations(res)
		per := res.Data.BatchesPerTrainer[0]
		if got[0] != got[1] || got[0] <= per || per != 5 || !res.Data.Streamed {
			t.Errorf("%s: the trainers measured %d iterations, %d an epoch, of %+v", length, got, per, res.Data)
		}
		if want := (got[0] + per - 1) / per; len(res.Evaluation) != want {
			t.Errorf("%s: %d iterations were evaluated %d times, want %d", length, got[0], len(res.Evaluation), want)
		}
	}
}

// Without a length each trainer measures 20 iterations at least, and the result says why.
func TestDefaultLength(t *testing.T) {
	for flags, want := range map[string]struct {
		iterations int
		epochs     string
	}{
		"--ntrainer 8" + small:   {20, "20, default: 20 iterations per trainer"},
		"--ntrainer 3" + small:   {21, "7, default: 20 iterations per trainer"},
		"--ntrainer 2" + small:   {25, "5, default"},
		"--trainer batch_update": {20, "5, default: 20 iterations per trainer"},
		"--ntrainer 4 --nserver 0 --ddp-hook noop --set data.sample_count=90" + small: {20, "10, default: 20 iterations per trainer"}, // of shares 3, 2, 2, 2
	} {
		res := lasting(t, flags)
		if got := iterations(res); slices.Min(got) != want.iterations || setting(res, "epochs") != want.epochs {
			t.Errorf("%s: %d iterations, epochs %s, want %+v", flags, got, setting(res, "epochs"), want)
		}
	}
	res := lasting(t, "--epochs 1 --warmup none"+small)
	const want = "each trainer measured 5 iterations, fewer than 20: one that is slow changes all means; give --iterations 20 or more"
	if !slices.Contains(res.Warnings, want) {
		t.Errorf("one epoch gives the warnings %q", res.Warnings)
	}
}

// A pass that would go on for a long time ends as any other where a process dies or the user
// wants it to.
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
