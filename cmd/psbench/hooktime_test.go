package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/sdk"
)

// nap is a hook that sleeps on trainer 0 before it calls its link. It records no metric that psbench knows, so
// psbench must measure the hook's time on its own.
type nap struct {
	env   sdk.HookEnv
	slept *sdk.Series
}

func newNap(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	return &nap{env, env.Recorder.Series(slept.Type, slept.Name)}, nil
}

func (h *nap) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if h.env.Rank == 0 {
		sleep(h.slept, lateBy, sdk.Key{A: state.Batch(), B: int64(b.Index)})
	}
	if h.env.Server != nil {
		return h.env.Server.PushPull(state.Batch(), b)
	}
	return h.env.Group.Average(state.Batch(), b)
}

func (*nap) Reset() {}

// napInPython is the same hook in Python.
const napInPython = `
import time
import psbench


class Nap(psbench.Hook):
    key = "nap_group"
    links = ("group",)

    def setup(self):
        self.slept = self.recorder.series("test_metric", "slept")

    def reduce(self, state, bucket):
        if self.env.name.startswith("trainer0"):
            start = psbench.now()
            time.sleep(0.02)
            self.slept.record((state.batch, bucket.index), start, psbench.now())
        return self.operation(bucket)

    def operation(self, bucket):
        return self.group.average(bucket)


class Pushing(Nap):
    key = "nap_server"
    links = ("server",)

    def operation(self, bucket):
        return self.server.push_pull(bucket)


psbench.serve(Nap, Pushing)
`

// pythonRegistry returns a registry with the hooks in napInPython.
func pythonRegistry(t *testing.T) map[string]any {
	t.Helper()
	python, err := findPython()
	if err != nil {
		t.Skip(err)
	}
	script := filepath.Join(t.TempDir(), "nap.py")
	if err := os.WriteFile(script, []byte(napInPython), 0o600); err != nil {
		t.Fatal(err)
	}
	here := map[string]any{"plugin": "py"}
	return map[string]any{
		"plugins":      map[string]any{"py": map[string]any{"command": []string{python, script}}},
		"ddp_hook_map": map[string]any{"nap_server": here, "nap_group": here},
	}
}

// If a hook takes 20 ms on trainer 0 before it calls its link, this time counts as hook time, not as transfer. The
// result is the same in every process that can run the hook. Trainer 1 waits equally long, and the report names
// trainer 0 as the straggler.
func TestAttributesALateHookToTheHook(t *testing.T) {
	if testing.Short() {
		t.Skip("times are attributed on a machine that has room for them")
	}
	for name, c := range map[string]struct {
		registry func(*testing.T) map[string]any
		args     string
	}{
		"in a process of its own": {lateRegistry, ""},
		"in the trainer":          {lateRegistry, " --trainer ddp_here"},
		"in Python":               {pythonRegistry, ""},
	} {
		for link, args := range map[string]string{"server": "--ddp-hook nap_server",
			"group": "--nserver 0 --ddp-hook nap_group"} {
			t.Run(name+" by a "+link, func(t *testing.T) {
				r := plantedBy(t, c.registry(t), args+c.args)
				want := sleptNS(t, r, 0)
				b := breakdown.Of(r)
				inHook := make([]int64, len(want)) // of trainer 0, which comes first
				for i := range inHook {
					inHook[i] = b.Hook.Exposed[i]
					if len(b.Hook.Backward) > 0 {
						inHook[i] += b.Hook.Backward[i]
					}
				}
				requireClose(t, "the hook", inHook, want)
				var waited []int64 // by trainer 1
				for ns := range b.Waiting.Durations() {
					waited = append(waited, ns)
				}
				requireClose(t, "waiting for it", waited[len(want):], want)
				if s, ok := b.Straggler(); !ok || s.Rank != 0 || s.Times < 36 {
					t.Errorf("the straggler is %+v", s)
				}
				for _, p := range b.Times() {
					ms := float64(p.TotalNS) / float64(len(want)) / 1e6
					switch planted := medianMS(want); p.Name {
					case breakdown.HookTime:
						if ms < 0.9*planted {
							t.Errorf("an iteration of both trainers has %.2f ms of hook, want %.2f ms", ms, planted)
						}
					case breakdown.TransferTime, breakdown.ComputeTime:
						if ms > 0.5*planted { // a busy machine adds to the time
							t.Errorf("an iteration of both trainers has %.2f ms of %s beside %.2f ms of hook", ms,
								p.Name, planted)
						}
					}
				}
			})
		}
	}
}
