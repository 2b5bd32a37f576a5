package trainer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// A run on streamed data computes the same results as on the same data in memory, in every pass,
// wherever its parts run.
func TestStreamedRunsComputeTheSameBits(t *testing.T) {
	want := newToyWorld(t, "unix", "{}").pass(t)
	toy, _ := hosttest.ToyData{}.Load()
	for _, transport := range hosttest.Transports {
		for _, isolated := range [][]sdk.Kind{nil, {sdk.KindModel}, isolable} {
			w := newWorldOn(t, hosttest.NewTape(toy), "toy", transport, "{}", isolated...)
			for range 3 {
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
		}
	}
}
