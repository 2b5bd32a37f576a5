package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
)

// A run whose data is streamed computes what it does with the same data in memory, in
// every pass, wherever its parts are.
func TestStreamedRunsComputeTheSameBits(t *testing.T) {
	want := newToyWorld(t, comm.Unix, "{}").pass(t)
	toy, _ := toyData{}.Load()
	for _, transport := range tested {
		for _, isolated := range [][]Kind{nil, {KindModel}, Isolable} {
			w := newWorldOn(t, newTape(toy), "toy", transport, "{}", isolated...)
			for range 3 {
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
		}
	}
}
