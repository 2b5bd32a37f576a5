package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// feedback is a hook that rounds gradients. It adds the rounding error to the next gradient of the same bucket.
type feedback struct {
	group comm.Group
	away  [][]float32 // rounding errors by bucket
}

func newFeedback(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	h := &feedback{group: env.Group}
	for _, b := range env.Buckets {
		h.away = append(h.away, make([]float32, max(b.Elements, b.Capacity*b.Width)))
	}
	return h, nil
}

func (h *feedback) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	const steps = 1 << 12
	for i, away := range h.away[b.Index] {
		v := b.Gradient.Values[i] + away
		b.Gradient.Values[i] = float32(int(steps*v)) / steps
		h.away[b.Index][i] = v - b.Gradient.Values[i]
	}
	return h.group.Average(state.Batch(), b)
}

func (h *feedback) Reset() {
	for _, away := range h.away {
		clear(away)
	}
}

// A pass after a warm-up has bitwise the same losses as a pass without a warm-up, even if the hook keeps state. The
// test runs the hook in the trainer's process and in a separate one.
func TestHookForgetsTheWarmUp(t *testing.T) {
	losses := func(args ...string) [][]float64 {
		file := filepath.Join(t.TempDir(), "result.json")
		args = append(append(withTestPlugin(t), "--quiet", "--ddp-hook", "feedback", "--nserver", "0", "--ntrainer",
			"2",
			"--epochs", "10", "--set", "model.dense_layers_count=1", "--json", file), args...)
		args = append(args, strings.Fields(small)...)
		if status, _, stderr := psbenchMain(t, args...); status != 0 {
			t.Fatal(stderr)
		}
		r, err := result.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		return r.Losses
	}
	want := losses("--warmup", "none")
	for _, args := range [][]string{nil, {"--isolate", "hook"}} {
		if d := cmp.Diff(want, losses(args...)); d != "" || len(want) != 2 {
			t.Errorf("%v: %s", args, d)
		}
	}
}
