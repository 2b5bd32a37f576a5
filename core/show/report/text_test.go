package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/sdk"
)

// synthetic returns a run of 4 trainers and 2 servers with an isolated hook.
func synthetic() *result.Result {
	r := &result.Result{
		Schema:   result.Schema,
		Complete: true,
		Pass:     result.Measured,
		Started:  time.Date(2026, 3, 1, 13, 30, 0, 0, time.FixedZone("CET", 3600)),
		Config: []result.Value{
			{Key: "trainer", Value: "ddp", Origin: "default"},
			{Key: "server", Value: "average", Origin: "flag --server"},
			{Key: "ddp_hook", Value: "rpc", Origin: "default"},
			{Key: "create_criterion", Value: "cel", Origin: "default"},
			{Key: "model", Value: "DummyModel", Origin: "default"},
			{Key: "data", Value: "DummyData", Origin: "default"},
			{Key: "epochs", Value: 5, Origin: "run.json"},
			{Key: "batch_size", Value: 10, Origin: "default"},
			{Key: "torch_seed", Value: uint64(math.MaxUint64), Origin: "flag --torch-seed"},
		},
		Environment: result.Environment{
			Psbench: "v0.1.0", Commit: "a3139f6", Go: "go1.26.0", OS: "linux", Arch: "amd64", Kernel: "6.1.0",
			CPU: "Example CPU", Cores: 2, MemoryMiB: 7950, SIMD: "avx2",
		},
		Warnings:  []string{"server2 is never used by hook allreduce"},
		Transport: "unix",
		Data: result.Partition{
			Samples: 100, Batches: 11, LargestBatch: 10, BatchesPerTrainer: []int{3, 3, 2, 2}, DroppedBatches: 1,
			SamplesPerTrainer: []int{30, 30, 20, 20},
		},
		Throughput: result.NewThroughput(500, 0.4),
		StartMS:    182.25,
		Losses:     [][]float64{{6.9315, 6.9311}, {6.9313, 6.9309}},
	}
	blas := map[string]string{"blas": "OpenBLAS 0.3.21", "blas_core": "Haswell", "blas_threads": "1"}
	for rank := range 4 {
		r.Processes = append(r.Processes, result.Process{
			Name: fmt.Sprintf("trainer%d", rank), Rank: rank, Kind: "trainer", Key: "ddp", Plugin: "builtin",
			PID: 4000 + rank, StartMS: 11.5, RSSMiB: 143.25, Facts: blas,
		})
		for i := range int64(10) {
			add(r, rank, "hook_future_metric", "rpc_dense", 1_500_000+i*i*10_000)
			add(r, rank, "forward_metric", "forward_pass", 4_200_000+i*1_000+int64(rank))
			add(r, rank, "batch_level_metric", "batch_all", 12_000_000-i*7_001)
		}
	}
	for rank := 4; rank < 6; rank++ {
		r.Processes = append(r.Processes, result.Process{
			Name: fmt.Sprintf("server%d", rank), Rank: rank, Kind: "server", Key: "average", Plugin: "builtin",
			PID: 4000 + rank, StartMS: 9, RSSMiB: 61, Facts: map[string]string{"vectors": "avx2"},
		})
		add(r, rank, "parameter_server_straggler_metric", "param_index_straggler", 321_000_000)
		add(r, rank, "method_metric", "average computation", 52_000)
	}
	r.Processes = append(r.Processes,
		result.Process{Name: "data", Rank: -1, Kind: "data", Key: "dummy", Plugin: "builtin", PID: 4010},
		result.Process{Name: "trainer0.hook", Kind: "hook", Key: "rpc", Plugin: "builtin", PID: 4011,
			BoundaryNS: 3_140})
	return r
}

func add(r *result.Result, rank int, typ, name string, ns int64) {
	measured := 0
	for _, s := range r.Series {
		measured += s.Len()
	}
	r.SeriesOf(rank, typ, name).Add(sdk.Measurement{StartNS: int64(measured) * 1e6, DurationNS: ns})
}

func text(t *testing.T, r *result.Result, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Text(&out, r, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// committed requires that a golden file equals a text.
func committed(t *testing.T, name, got string) {
	t.Helper()
	golden.Require(t, filepath.Join("testdata", name), got)
}

// hybrid returns a run of 2 trainers with different shares of the data, on a machine with GPUs.
func hybrid() *result.Result {
	r := synthetic()
	r.Warnings, r.Series, r.Buckets = nil, nil, nil
	r.Data = result.Partition{Samples: 160, Batches: 20, LargestBatch: 12, BatchesPerTrainer: []int{10, 10},
		SamplesPerTrainer: []int{100, 60}}
	r.Processes = append(slices.Clone(r.Processes[:2]), r.Processes[4])
	r.Environment.BLAS = []result.BLAS{{Engine: "openblas", Library: "libopenblas.so.0", Core: "SkylakeX",
		Threads: "1"}, {Engine: "gonum", Core: "go", Threads: "2"}}
	r.Environment.GPUs = []result.GPU{{Name: "NVIDIA H100 80GB HBM3", Driver: "550.54.15", MemoryMiB: 81559},
		{Name: "NVIDIA H100 80GB HBM3", Driver: "550.54.15", MemoryMiB: 81559}}
	r.Environment.GPUTopology = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" +
		"GPU0\t X \tNV18\tSYS\t" + strings.Repeat("0-47,",
		30) + "\t0\t\tN/A\nGPU1\tNV18\t X \tPIX\t0-47\t0\t\tN/A\n\nLegend:\n\n  X = Self"
	for rank := range 2 {
		for i := range int64(4) {
			add(r, rank, "epoch_metric", "epoch", (i+1)*10_000_000+int64(rank)*3_000_000)
		}
	}
	return r
}

// updating returns a run of 3 trainers and a server that holds the model. Each trainer makes the given number of
// updates.
func updating(updates int) *result.Result {
	r := synthetic()
	r.Warnings, r.Series = nil, nil
	r.Processes = append(slices.Clone(r.Processes[:3]),
		result.Process{Name: "server3", Rank: 3, Kind: "server", Key: "batch_update", Plugin: "builtin"})
	r.StartedNS = 5_000_000_000
	r.Throughput = result.NewThroughput(60, 0.01234)
	at := func(rank int, name string, a, b, startUS, durationUS int64) {
		r.SeriesOf(rank, "batch_update_metric", name).Add(sdk.Measurement{
			Key: sdk.Key{A: a, B: b}, StartNS: r.StartedNS + 1e9 + startUS*1000, DurationNS: durationUS * 1000,
		})
	}
	for trainer := range int64(3) {
		at(int(trainer), "fetching the model", 0, 0, trainer, 20)
		for step := range int64(updates) {
			at(int(trainer), "processing one batch", 0, step, 100+step*100+trainer, 40)
			at(int(trainer), "reporting grads", 0, step, 140+step*100+trainer, 30-trainer)
			at(3, "got update", trainer, 3, 142+step*100+trainer, 2)
		}
	}
	for step := range int64(updates) {
		at(3, "updated model", step, 3, 147+step*100, 10)
	}
	return r
}

// evaluated returns a run of 2 trainers. The second trainer has no held-out samples in the last epoch.
func evaluated(epochs int) *result.Result {
	r := synthetic()
	r.Warnings, r.Series, r.Processes = nil, nil, slices.Clone(r.Processes[:2])
	for epoch := range epochs {
		e := result.Evaluation{
			Epoch: epoch, Samples: 30, TrainLoss: 0.69 / float64(epoch+1), Loss: 0.7 / float64(epoch+1),
			Accuracy: new(1 - 0.5/float64(epoch+1)), AUC: new(1 - 0.5/float64(epoch+2)),
			BaseEntropy: new(0.6730116670092565),
			Trainers: []result.TrainerEvaluation{{Rank: 0, Samples: 20, Loss: 0.75},
				{Rank: 1, Samples: 10, Loss: 0.5}},
		}
		if epoch == epochs-1 {
			e.Samples, e.Loss, e.AUC, e.Trainers = 20, math.Inf(1), nil, e.Trainers[:1]
		}
		r.Evaluation = append(r.Evaluation, e)
		for _, t := range e.Trainers {
			r.SeriesOf(t.Rank, "evaluation_metric", "evaluate").Add(sdk.Measurement{
				Key: sdk.Key{A: int64(epoch)}, DurationNS: int64(t.Rank+1) * 2_500_000,
			})
		}
	}
	return r
}

func TestSpread(t *testing.T) {
	for n, want := range map[int][]int{0: {}, 1: {0}, 2: {0, 1}, 4: {0, 1, 2, 3}, 5: {0, 1, 2, 4},
		100: {0, 33, 66, 99}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := spread(n, 4); !slices.Equal(got, want) {
				t.Errorf("of %d places %d are picked, want %d", n, got, want)
			}
		})
	}
}

func TestText(t *testing.T) {
	broken := &result.Result{
		Started:     synthetic().Started,
		Error:       "trainer1 was killed by signal 9 (possibly out of memory)",
		Environment: synthetic().Environment,
		Losses:      [][]float64{{}, {math.NaN()}},
		Transport:   "unix",
	}
	warmUp := updating(2)
	warmUp.Complete, warmUp.Error, warmUp.Pass = false, "interrupted", result.WarmUp
	tests := []struct {
		file string
		r    *result.Result
		o    Options
	}{
		{"psbench.txt", synthetic(), Options{Report: Full}},
		{"original.txt", synthetic(), Options{Stats: StatsOriginal}},
		{"incomplete.txt", broken, Options{Report: Full}},
		{"warm_up.txt", warmUp, Options{Report: Full}},
		{"hybrid.txt", hybrid(), Options{Report: Full}},
		{"batch_update.txt", updating(2), Options{Report: Full}},
		{"batch_update_long.txt", updating(7), Options{Report: Full}},
		{"evaluation.txt", evaluated(3), Options{Report: Full}},
		{"evaluation_long.txt", evaluated(100), Options{Report: Full}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got := text(t, test.r, test.o)
			committed(t, test.file, got)
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(line); n > 121 {
					t.Errorf("a line is %d columns wide:\n%s", n-1, line)
				}
			}
		})
	}
}

func TestTextFitsTheScreen(t *testing.T) {
	for name, r := range map[string]*result.Result{
		"ddp": synthetic(), "hybrid": hybrid(), "batch_update": updating(7), "evaluated": evaluated(100),
	} {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{60, 80, 100, 160} {
				for line := range strings.Lines(text(t, r, Options{Report: Full, Width: width})) {
					if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%s on a screen of %d columns has a line of %d:\n%s", name, width, n, line)
					}
				}
			}
		})
	}
}

// The training time is the time between the two ends of the timeline, minus the evaluation time in between. The
// training time includes the first fetch of the model.
func TestTimeSpentTraining(t *testing.T) {
	evaluating, unfinished := updating(2), updating(2)
	unfinished.Complete = false
	at := evaluating.StartedNS + 1e9
	for rank, measurements := range [][]sdk.Measurement{
		{{StartNS: at + 171_000, DurationNS: 10_000}, {StartNS: at + 185_000, DurationNS: 15_000}},
		{{StartNS: at + 171_000, DurationNS: 12_000}, {StartNS: at + 900_000, DurationNS: 80_000}},
	} {
		evaluating.Series = append(evaluating.Series,
			result.NewSeries(rank, "evaluation_metric", "evaluate", measurements...))
	}
	for want, r := range map[string]*result.Result{
		"finish training\ntime spent training: 0.000270 s\n":                             updating(2),
		"finish training\ntime spent training: 0.000245 s, and evaluating: 0.000025 s\n": evaluating,
		"finish training\n\nwhat ran where\n":                                            unfinished,
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if got := text(t, r, Options{Report: Full}); !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got[strings.Index(got, "timeline"):])
			}
		})
	}
}

func TestTextKeepsTheSamplesInTimeOrder(t *testing.T) {
	r := synthetic()
	text(t, r, Options{Report: Full})
	if diff := cmp.Diff(synthetic(), r); diff != "" {
		t.Errorf("the result was changed:\n%s", diff)
	}
}

func TestTextRejectsUnknownStats(t *testing.T) {
	err := Text(&bytes.Buffer{}, synthetic(), Options{Stats: "median"})
	if err == nil || err.Error() != `statistics "median" are unknown: choose "psbench" or "original"` {
		t.Errorf("error is %v", err)
	}
}

func TestTextRejectsUnknownReports(t *testing.T) {
	err := Text(&bytes.Buffer{}, synthetic(), Options{Report: "long"})
	if err == nil || err.Error() != `report "long" is unknown: choose "table", "full" or "summary"` {
		t.Errorf("error is %v", err)
	}
}

func TestTextReportsItsWriter(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	if err := Text(full, synthetic(), Options{}); err == nil {
		t.Error("no error on a full device")
	}
}
