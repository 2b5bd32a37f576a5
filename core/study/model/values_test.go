package model

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/result"
	stamps "github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Measured returns a result of two connected trainers. epochs are the durations of the iterations in ms. Trainer 1
// waits for half of each iteration and computes for a quarter. The other trainer only computes.
func Measured(seed int, config map[string]string, epochs ...[]int64) *result.Result {
	r := &result.Result{
		Complete: true, Started: time.Unix(int64(seed), 0), Connected: [][]int{{0, 1}},
		Processes: []result.Process{{Rank: 0, Kind: "trainer", RSSMiB: 10}, {Rank: 1, Kind: "trainer", RSSMiB: 20},
			{Rank: -1, Kind: "data", RSSMiB: 1}},
		Throughput: result.NewThroughput(100, 2), StartMS: 7,
		Buckets: []tensor.BucketSpec{{Elements: 100}, {Sparse: true, Capacity: 3, Width: 4}},
		Config: []result.Value{{Key: "torch_seed", Value: seed, Origin: "flag"},
			{Key: "json", Value: "a.json", Origin: "flag"}},
	}
	for _, key := range []string{"server", "ddp_hook", "ntrainer", "data.max_val"} {
		if value, ok := config[key]; ok {
			r.Config = append(r.Config,
				result.Value{Key: key, Value: value,
					Origin: map[bool]string{true: "flag", false: "derived"}[key != "ddp_hook"]})
		}
	}
	at := int64(1000)
	for epoch, list := range epochs {
		for i, ms := range list {
			ns := ms * 1e6
			key := sdk.Key{A: int64(epoch), B: int64(i)}
			add := func(rank int, typ, name string, start, ns int64) {
				r.SeriesOf(rank, typ, name).Add(sdk.Measurement{Key: key, StartNS: at + start, DurationNS: ns})
			}
			add(0, "forward_metric", "forward_pass", 0, ns)
			add(0, "iteration_metric", "exposed communication", ns, 0)
			add(1, "forward_metric", "forward_pass", 0, ns/4)
			add(1, "iteration_metric", "exposed communication", ns/4, ns/2+ns/4)
			at += ns
		}
		at += 1e9
	}
	return r
}

func TestValues(t *testing.T) {
	r := Measured(3, nil, []int64{10, 20}, []int64{30})
	auc := 0.75
	r.Evaluation = []result.Evaluation{{Epoch: 0, Loss: 0.5}, {Epoch: 1, Loss: 0.25, AUC: &auc}}
	r.Losses = [][]float64{{3, 2, 1}, {3, 2, 0.5}}
	r.Data.BatchesPerTrainer = []int{2, 2}
	run := runOf("a", r)
	want := map[string]float64{
		Throughput: 50, TimePerBatch: 20, HeldOutLoss: 0.25, "held_out_auc": 0.75, "final_loss": 0.75,
		"bytes_per_batch": 400 + 3*(16+4), "peak_memory": 31, "start": 7,
		Compute: 62.5, Waiting: 37.5, Moving: 0,
		"time_data": 0, "time_compute": 12.5, "time_waiting": 7.5, "time_transfer": 0, "time_reduction": 0,
		"time_rest": 0, "time_straggler": 15,
	}
	if d := cmp.Diff(want, run.Values); d != "" {
		t.Error(d)
	}
	// The hook of trainer 1 works for 2 ms of each exposed communication. It also works for the 1 ms before it, in
	// parallel with the trainer.
	for m := range r.SeriesOf(1, "iteration_metric", "exposed communication").All() {
		r.SeriesOf(1, stamps.HookMetric, stamps.HookBeside).Add(sdk.Measurement{Key: m.Key, StartNS: m.StartNS - 1e6,
			DurationNS: 3e6})
	}
	maps.Copy(want,
		map[string]float64{"time_hook": 1, "time_waiting": 6.5, Hooking: 5, Waiting: 32.5, "time_straggler": 13})
	if d := cmp.Diff(want, runOf("a", r).Values); d != "" {
		t.Errorf("with a hook: %s", d)
	}
	if run.Seed != 3 || run.Iterations != 3 {
		t.Errorf("seed %d, %d iterations", run.Seed, run.Iterations)
	}
	epochs := []Epoch{
		{0.03, 460 * 2 * 2, map[string]float64{HeldOutLoss: 0.5}},
		{0.06, 460 * 2 * 3, map[string]float64{HeldOutLoss: 0.25, "held_out_auc": 0.75}},
	}
	if d := cmp.Diff(epochs, run.Epochs); d != "" {
		t.Error(d)
	}
}

// A run has a percentile only if it has enough iterations. A metric without a value has no entry.
func TestPercentilesNeedIterations(t *testing.T) {
	for count, want := range map[int][3]bool{0: {}, 1: {true}, 19: {true}, 20: {true, true}, 99: {true, true},
		100: {true, true, true}} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			run := runOf("a", Measured(0, nil, make([]int64, count)))
			var got [3]bool
			for i, name := range []string{TimePerBatch, "time_per_batch_p95", P99} {
				_, got[i] = run.Values[name]
			}
			if got != want {
				t.Errorf("of %d iterations there are p50, p95, p99: %v, want %v", count, got, want)
			}
		})
	}
	empty := runOf("a", &result.Result{})
	if len(empty.Values) != 0 || empty.Epochs != nil {
		t.Errorf("an empty result has %v", empty.Values)
	}
}

// A run has its own warnings and the warnings about its iterations. Values that are not finite are kept.
func TestRunWarnings(t *testing.T) {
	list := make([]int64, 60)
	for i := range list {
		list[i] = 100 + int64(i)
	}
	r := Measured(0, nil, list)
	r.Warnings = []string{"loud"}
	r.Losses = [][]float64{{math.NaN()}}
	run := runOf("a", r)
	if len(run.Warnings) != 2 || run.Warnings[0] != "loud" || !math.IsNaN(run.Values["final_loss"]) {
		t.Errorf("%q, %v", run.Warnings, run.Values)
	}
}

// Trainers are silent if no connection joins them and no server answers them.
func TestSilent(t *testing.T) {
	answered := func(r *result.Result) {
		r.Processes = append(r.Processes, result.Process{Rank: 2, Kind: "server"})
		r.SeriesOf(2, "parameter_server_batch_metric", "param_index_batch").Add(sdk.Measurement{DurationNS: 1})
	}
	for name, test := range map[string]struct {
		change func(r *result.Result)
		want   bool
	}{
		"connected": {func(*result.Result) {}, false},
		"alone":     {func(r *result.Result) { r.Connected, r.Processes = [][]int{{0}}, r.Processes[:1] }, false},
		"noop":      {func(r *result.Result) { r.Connected = [][]int{{0}, {1}} }, true},
		"unused": {func(r *result.Result) {
			answered(r)
			r.Connected, r.Series = [][]int{{0}, {1}}, r.Series[:2]
		}, true},
		"asynchronous": {func(r *result.Result) { answered(r); r.Connected = [][]int{{0}, {1}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Measured(0, nil, []int64{1, 2})
			test.change(r)
			if got := runOf("a", r).Silent; got != test.want {
				t.Errorf("%s: silent %v, want %v", name, got, test.want)
			}
		})
	}
}
