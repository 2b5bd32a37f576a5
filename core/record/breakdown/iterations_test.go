package breakdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
)

// An iteration lasts as long as on the slowest trainer of its set. Time between epochs belongs to no iteration.
func TestIterations(t *testing.T) {
	r := &result.Result{Connected: [][]int{{0, 1}, {2}}}
	series(r, 0, 1000, 2, []lane{{data: 1, forward: 9}, {forward: 20}, {forward: 5}})
	series(r, 1, 1000, 2, []lane{{forward: 12}, {forward: 10}, {forward: 7}})
	series(r, 2, 1000, 2, []lane{{forward: 3}})
	want := [][]Iteration{{{0, 12}, {0, 18}, {1, 15}}, {{0, 3}}}
	// Trainer 1 starts epoch 1 8 ns before trainer 0, which ends the epoch 13 ns after that.
	want[0][2].NS = 8 + 5
	if d := cmp.Diff(want, Iterations(r)); d != "" {
		t.Error(d)
	}
}

// If the last iteration of a trainer is missing, its set has one iteration fewer. If a trainer has no iterations, its
// set has no iterations.
func TestIterationsOfARunThatEnded(t *testing.T) {
	r := &result.Result{Connected: [][]int{{0, 1}}}
	series(r, 0, 1000, 9, []lane{{forward: 9}, {forward: 20}})
	series(r, 1, 1000, 9, []lane{{forward: 12}})
	if d := cmp.Diff([][]Iteration{{{0, 12}}}, Iterations(r)); d != "" {
		t.Error(d)
	}
	r.Connected = [][]int{{0, 1, 7}}
	if all := Iterations(r); all != nil {
		t.Errorf("without a trainer there are %v", all)
	}
	r.Connected = nil
	if all := Iterations(r); len(all) != 2 {
		t.Errorf("each by itself is %v", all)
	}
}
