package trainer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

func TestFeatureModelsComputeTheSameBits(t *testing.T) {
	want := newWorld(t, "features", "unix", "{}").pass(t)
	if len(want.Losses) != 3 || want.Summary[0][0] == 0 {
		t.Fatalf("the toy does not train: %+v", want)
	}
	for _, transport := range hosttest.Transports {
		for _, isolated := range [][]sdk.Kind{nil, {sdk.KindModel}, {sdk.KindCriterion}, isolable} {
			w := newWorld(t, "features", transport, "{}", isolated...)
			for range 2 { // the warm-up and the measured pass
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
		}
	}
}

// Across processes, a model is a FeatureModel exactly if it is one in its own process.
func TestPlainModelStaysPlain(t *testing.T) {
	for key, want := range map[string]bool{"toy": false, "features": true} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t, key, "unix", "{}", sdk.KindModel)
			if _, got := w.trainer.parts.Model.(sdk.FeatureModel); got != want {
				t.Errorf("%s is a feature model: %v", key, got)
			}
		})
	}
}

func TestFeatureModelErrorsCross(t *testing.T) {
	for _, transport := range hosttest.Transports {
		for _, call := range []string{"backward", "input"} { // both calls end up in backward
			w := newWorld(t, "features", transport, `{"fail": "`+call+`"}`, sdk.KindModel)
			w.reset(t)
			if _, err := w.trainer.Train(t.Context(), stop.Length{}); err == nil ||
				err.Error() !=
					"trainer0, epoch 0, batch 0: trainer0.model: model features, BackwardInput: the toy is broken" {
				t.Errorf("%s: a failing %s gave %v", transport, call, err)
			}
		}
	}
}
