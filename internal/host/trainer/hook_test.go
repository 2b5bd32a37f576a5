package trainer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// feedback is a hook with error feedback: it adds each bucket's rounding error to the bucket's next
// gradient. feedback allocates memory for the buckets in its environment.
type feedback struct{ errors [][]float32 }

func newFeedback(env sdk.HookEnv) *feedback {
	h := &feedback{}
	for _, b := range env.Buckets {
		h.errors = append(h.errors, make([]float32, max(b.Elements, b.Capacity*b.Width)))
	}
	return h
}

func (h *feedback) Reduce(_ sdk.HookState, b *tensor.Bucket) *comm.Future {
	for i, v := range b.Gradient.Values {
		v += h.errors[b.Index][i]
		b.Gradient.Values[i] = float32(int(16*v)) / 16
		h.errors[b.Index][i] = v - b.Gradient.Values[i]
	}
	return comm.Completed(nil)
}

func (h *feedback) Reset() {
	for _, kept := range h.errors {
		clear(kept)
	}
}

// A hook gets its environment when it is built. Every pass begins with the same state as the first,
// wherever the hook runs.
func TestHookKnowsItsWorldAndForgetsPasses(t *testing.T) {
	everywhere(t, sdk.KindHook, func(t *testing.T, transport string, isolated ...sdk.Kind) {
		var env sdk.HookEnv
		hook := sdk.NewHook("toy", hosttest.ToySettings{},
			func(_ hosttest.ToySettings, e sdk.HookEnv) (sdk.Hook, error) {
				env = e
				return newFeedback(e), nil
			})
		w := newWorldOf(t, append([]sdk.Part{hook}, hosttest.ToyParts...), "toy", transport, "{}", isolated...)
		if env.Trainers != 1 || env.Seed != 3 || env.Name == "" || env.Recorder == nil {
			t.Errorf("the hook knows of %+v", env)
		}
		var attached []tensor.BucketSpec
		for _, b := range w.trainer.parts.Buckets {
			attached = append(attached, b.BucketSpec)
		}
		if d := cmp.Diff(attached, env.Buckets); d != "" || len(attached) != 2 || attached[1].Capacity != 4 {
			t.Errorf("the trainer has the buckets %v, the hook others: %s", attached, d)
		}
		first := w.pass(t)
		if d := cmp.Diff(first, w.pass(t)); d != "" {
			t.Errorf("the second pass differs from the first: %s", d)
		}
	})
}

// noted is a hook that records its resets.
type noted struct {
	*feedback
	resets *sdk.Counter
}

func (h *noted) Reset() { h.resets.Add(1) }

// Values that a part records in Reset belong to no pass, wherever the part runs.
func TestResetForgetsWhatItRecorded(t *testing.T) {
	everywhere(t, sdk.KindHook, func(t *testing.T, transport string, isolated ...sdk.Kind) {
		var resets *sdk.Counter
		hook := sdk.NewHook("toy", hosttest.ToySettings{},
			func(_ hosttest.ToySettings, e sdk.HookEnv) (sdk.Hook, error) {
				resets = e.Recorder.Counter("toy_metric", "resets", "1")
				return &noted{newFeedback(e), resets}, nil
			})
		w := newWorldOf(t, append([]sdk.Part{hook}, hosttest.ToyParts...), "toy", transport, "{}", isolated...)
		resets.Add(1)
		if hosttest.Must(t, w.trainer.Reset()); w.hook != nil {
			hosttest.Must(t, w.hook.Reset())
		}
		if n := resets.Value(); n != 0 {
			t.Errorf("%d is left of what was recorded before the pass", n)
		}
	})
}
