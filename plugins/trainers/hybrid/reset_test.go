package hybrid

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk/optimizer"
)

// A reset clears the optimizer's state: the measured pass steps as the warm-up did.
func TestResetForgetsTheOptimizersState(t *testing.T) {
	tr, _, _ := attached(t, newStub(), Settings{Settings: optimizer.Defaults(0.5, 0.5), Lookup: "parallel"}, 1)
	for pass := range 2 {
		weight := tr.parts.Values[0].Data
		clear(weight) // the stub does not initialize it
		if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
			t.Fatal(err)
		}
		if want := float32(-0.5 * (1 + 1.5)); weight[0] != want { // two gradients of 1
			t.Errorf("pass %d moves the parameter to %v, want %v", pass, weight[0], want)
		}
		if err := tr.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// An evaluation's lookup belongs to no batch, and no update follows its forward pass.
func TestForwardAlone(t *testing.T) {
	s := newStub()
	tr, _, _ := attached(t, s, Settings{Lookup: "parallel"}, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
		t.Fatal(err)
	}
	s.events, s.features = nil, nil
	if _, err := tr.iteration.forwardAlone(&stubBatches[1]); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lookup 0", "lookup 1", "lookup 2", "lookup 3", "forward"}, s.events); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]float32{{-10, -10, -10, -10}}, s.features); d != "" { // 10 times the batch's number
		t.Error(d)
	}
}
