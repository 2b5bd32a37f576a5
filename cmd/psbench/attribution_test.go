package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// latePluginArgument turns the test executable into a plugin with a late hook and a slow server. The hook is late in
// the process of a ddp trainer. Both parts record how long they slept, because a busy machine prolongs the sleep.
const latePluginArgument = "__late-plugin"

func serveLatePlugin() {
	parts := plugins.Parts()
	here := parts[slices.IndexFunc(parts, func(p sdk.Part) bool { return p.Kind == sdk.KindTrainer && p.Key == "ddp" })]
	here.Key = "ddp_here"
	parts = append(append(parts, here), plannedHooks()...)
	plugin.Serve(append(parts,
		sdk.NewHook("late", struct{}{}, newLate, sdk.LinkServer),
		sdk.NewServer("slow", struct{}{}, newSlow),
		sdk.NewHook("nap_server", struct{}{}, newNap, sdk.LinkServer),
		sdk.NewHook("nap_group", struct{}{}, newNap, sdk.LinkGroup),
	)...)
}

const (
	lateBy = 20 * time.Millisecond // delay of trainer 1 in each iteration
	slowBy = 5 * time.Millisecond  // delay of the server for each bucket
)

var slept = breakdown.Metric{Type: "test_metric", Name: "slept"}

// sleep sleeps and records the duration.
func sleep(s *sdk.Series, d time.Duration, key sdk.Key) {
	start := comm.Now()
	time.Sleep(d)
	s.Record(key, start, comm.Now())
}

// late is the hook rpc, except that trainer 1 sleeps before the first bucket of each iteration.
type late struct {
	env           sdk.HookEnv
	future, slept *sdk.Series
}

func newLate(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	return &late{env, env.Recorder.Series("hook_future_metric", "rpc_dense"),
		env.Recorder.Series(slept.Type, slept.Name)}, nil
}

func (h *late) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	key := state.Key(b.Index)
	if h.env.Rank == 1 && b.Index == 0 {
		sleep(h.slept, lateBy, key)
	}
	start := comm.Now()
	f := h.env.Server.PushPull(state.Batch(), b)
	f.Observe(h.future, key.A, key.B, start)
	return f
}

func (*late) Reset() {}

// slow is a server that sleeps after the last gradient arrives. Then it sends the first trainer's gradient to every
// trainer.
type slow struct {
	env     sdk.ServerEnv
	slept   *sdk.Series
	waiting []sdk.Push
}

func newSlow(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
	return &slow{env: env, slept: env.Recorder.Series(slept.Type, slept.Name)}, nil
}

func (s *slow) Receive(p sdk.Push) error {
	s.waiting = append(s.waiting, p)
	if len(s.waiting) < s.env.Trainers {
		return nil
	}
	sleep(s.slept, slowBy, sdk.Key{A: p.Batch, B: int64(p.Bucket)})
	for _, w := range s.waiting {
		if err := w.Answer(s.waiting[0].Gradient); err != nil {
			return err
		}
	}
	s.waiting = s.waiting[:0]
	return nil
}

func (s *slow) Reset() { s.waiting = s.waiting[:0] }

// planted runs a tiny one-bucket model with parts of the late plugin.
func planted(t *testing.T, args string) *result.Result {
	t.Helper()
	return plantedBy(t, lateRegistry(t), args)
}

// lateRegistry returns a registry with the parts of the late plugin.
func lateRegistry(t *testing.T) map[string]any {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]any{"plugin": "late"}
	return map[string]any{
		"plugins": map[string]any{
			"late": map[string]any{"command": []string{exe, latePluginArgument}, "includes": []string{"builtin"}},
		},
		"trainer_map": map[string]any{"ddp_here": here},
		"ddp_hook_map": map[string]any{"late": here, "nap_server": here, "nap_group": here,
			"scattering": here, "scaling": here, "pieces": here, "misplanned": here},
		"server_map": map[string]any{"slow": here},
	}
}

// plantedBy runs the tiny model with the parts of a given registry.
func plantedBy(t *testing.T, parts map[string]any, args string) *result.Result {
	t.Helper()
	registry, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	line := strings.Fields(
		"run --quiet --ntrainer 2 --nserver 1 --iterations 40 --warmup 2 --set model.dense_layers_count=1 " +
			small + " " + args)
	if status, _, stderr := psbenchMain(t,
		append(line, "--json", file, "--registry", inFile(t, registry))...); status != 0 {
		t.Fatal(stderr)
	}
	r, err := result.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// medianMS returns the median of durations, in ms.
func medianMS(ns []int64) float64 {
	return float64(slices.Sorted(slices.Values(ns))[len(ns)/2]) / 1e6
}

// sleptNS returns how long a rank slept in each iteration.
func sleptNS(t *testing.T, r *result.Result, rank int) (ns []int64) {
	t.Helper()
	for m := range r.SeriesOf(rank, slept.Type, slept.Name).All() {
		ns = append(ns, m.DurationNS)
	}
	if len(ns) != 40 {
		t.Fatalf("it slept %d times, want 40", len(ns))
	}
	return ns
}

// requireClose requires that at least a tenth of the iterations attribute the planted time to the part, within 10 %.
// A busy machine prolongs most iterations but not all. A wrong attribution would affect all of them.
func requireClose(t *testing.T, what string, got, want []int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d iterations, want %d", what, len(got), len(want))
	}
	near := 0
	for i := range got {
		if ratio := float64(got[i]) / float64(want[i]); ratio > 0.9 && ratio < 1.1 {
			near++
		}
	}
	if 10*near < len(got) {
		t.Errorf("%s: %d of %d iterations are close; the median is %.2f ms, want %.2f ms", what, near, len(got),
			medianMS(got), medianMS(want))
	}
}

// If a trainer is late by 20 ms in each iteration, the other trainer's straggler wait is as long, and the report
// names the late trainer.
func TestAttributesALateTrainerToWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("times are attributed on a machine that has room for them")
	}
	r := planted(t, "--trainer ddp_here --ddp-hook late")
	want := sleptNS(t, r, 1)
	var waited, iteration []int64
	for e := range breakdown.Exchanges(r) {
		if e.Rank == 0 && e.Key.B == 0 {
			waited = append(waited, e.WaitingNS)
		}
	}
	requireClose(t, "waiting with the bucket", waited, want)
	b := breakdown.Of(r)
	for ns := range b.Waiting.Durations() { // trainer 0 is always first, and its waits come first
		if len(iteration) < 40 {
			iteration = append(iteration, ns)
		}
	}
	requireClose(t, "waiting in an iteration", iteration, want)
	s, ok := b.Straggler()
	if !ok || s.Rank != 1 || s.Times < 36 {
		t.Errorf("the straggler is %+v", s)
	}
	// The cost is a mean, which a busy machine prolongs.
	if cost, want := float64(s.CostNS)/1e6, medianMS(want); cost < 0.9*want {
		t.Errorf("the straggler costs %.2f ms per iteration, want %.2f ms", cost, want)
	}
}

// If a server takes 5 ms longer for each bucket, that time counts as reduction, both per bucket and per iteration.
func TestAttributesASlowServerToReduction(t *testing.T) {
	if testing.Short() {
		t.Skip("times are attributed on a machine that has room for them")
	}
	r := planted(t, "--server slow")
	want := sleptNS(t, r, 2)
	var reduced []int64
	for e := range breakdown.Exchanges(r) {
		if e.Rank == 0 {
			reduced = append(reduced, e.ReductionNS)
		}
	}
	requireClose(t, "reduction of the bucket", reduced, want)
	b := breakdown.Of(r)
	for _, p := range b.Times() {
		if p.Name == breakdown.ReductionTime && b.MeanMS(p.TotalNS) < 0.9*medianMS(want) { // a mean, as above
			t.Errorf("an iteration has %.2f ms of reduction, want %.2f ms", b.MeanMS(p.TotalNS), medianMS(want))
		}
	}
}
