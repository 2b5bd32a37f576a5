package sdk

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
)

func TestFeatureModelsComputeTheSameBits(t *testing.T) {
	want := newWorld(t, "features", comm.Unix, "{}").pass(t)
	if len(want.Losses) != 3 || want.Summary[0][0] == 0 {
		t.Fatalf("the toy does not train: %+v", want)
	}
	for _, transport := range tested {
		for _, isolated := range [][]Kind{nil, {KindModel}, {KindCriterion}, Isolable} {
			w := newWorld(t, "features", transport, "{}", isolated...)
			for range 2 { // the warm-up and the measured pass
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
		}
	}
}

// A model has a gradient of its features across processes if it has one at all.
func TestPlainModelStaysPlain(t *testing.T) {
	for key, want := range map[string]bool{"toy": false, "features": true} {
		w := newWorld(t, key, comm.Unix, "{}", KindModel)
		if _, got := w.trainer.parts.Model.(FeatureModel); got != want {
			t.Errorf("%s is a feature model: %v", key, got)
		}
	}
}

func TestFeatureModelErrorsCross(t *testing.T) {
	for _, transport := range tested {
		for _, call := range []string{"backward", "input"} { // one calls the other
			w := newWorld(t, "features", transport, `{"fail": "`+call+`"}`, KindModel)
			must(t, w.trainer.reset())
			if _, err := w.trainer.train(t.Context(), math.MaxInt); err == nil || err.Error() != "trainer0, epoch 0, batch 0: trainer0.model: model features, BackwardInput: the toy is broken" {
				t.Errorf("%s: a failing %s gave %v", transport, call, err)
			}
		}
	}
}
