//go:build !race

package protocol

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// ofPart is the number of allocations that the part's double makes in this process for each frame:
// it reads one and writes one.
const ofPart = 2

// A reduction allocates nothing.
func TestHookAllocatesNothing(t *testing.T) {
	folder := t.TempDir()
	h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8), askAverage)
	h.Join(sdk.Links{Group: &still{done: comm.Completed(nil)}})
	var s sdk.HookState = at(4)
	reduce := func() {
		if err := h.Reduce(s, store.Buckets[0]).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(200, reduce); n > ofPart {
		t.Errorf("a reduction allocates %v times", n)
	}
}

// The calls of an iteration allocate nothing.
func TestCallsAllocateNothing(t *testing.T) {
	m, _, _ := modelOf(t, described, playModel())
	c := criterionOf(t, playCriterion)
	m.Initialize(1)
	up := tensor.New(2, 2)
	emit := func(int) {}
	iterate := func() {
		out, err := m.Forward(&batch)
		if err == nil {
			_, err = c.Forward(out, batch.Targets)
		}
		if err == nil {
			err = c.Backward(up)
		}
		if err == nil {
			err = m.Backward(up, emit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// For a model, the double also writes two gradients.
	if n := testing.AllocsPerRun(200, iterate); n > 4*ofPart+2 {
		t.Errorf("an iteration allocates %v times", n)
	}
}
