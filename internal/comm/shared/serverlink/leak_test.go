package serverlink

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// Links and ports that end in order leak nothing, even after a hundred of them.
func TestHundredLinksLeaveNothing(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 10_000), commtest.SparseSpec(1, 40, 3, 40)}
	linktest.RequireNothingLeft(t, func(t *testing.T) {
		h := newStar(t, 2, specs, linktest.Patience, linktest.NewAverager(2, specs).Handle)
		for k := range specs {
			first := h.links[0].PushPull(0, h.stores[0].Buckets[k])
			second := h.links[1].PushPull(0, h.stores[1].Buckets[k])
			commtest.Must(t, first.Wait())
			commtest.Must(t, second.Wait())
		}
		for _, l := range h.links {
			commtest.Must(t, l.Close())
		}
		commtest.Must(t, <-h.served)
	})
}

// Pushes allocate nothing in the steady state, wherever the gradients lie.
func TestSharedSteadyStateInPlaceDoesNotAllocate(t *testing.T) {
	const ranks = 3
	specs := []tensor.BucketSpec{
		commtest.DenseSpec(0, 100), commtest.DenseSpec(1, 1<<16), commtest.SparseSpec(2, 40, 3, 40),
	}
	h := newStar(t, ranks, specs, linktest.Patience, linktest.NewAverager(ranks, specs).Handle)
	linktest.RequireNoAllocation(t, ranks, func(rank int, batch int64) error {
		for k := range specs {
			if err := h.links[rank].PushPull(batch, h.stores[rank].Buckets[k]).Wait(); err != nil {
				return err
			}
		}
		return nil
	})
}
