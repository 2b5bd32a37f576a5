package shared

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// Links, ports and groups that end in order leave nothing, however many there
// were. What is in use at once stays far below what a leak would add up to.
func TestHundredLinksLeaveNothing(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 10_000), commtest.SparseSpec(1, 40, 3, 40)}
	once := func() {
		t.Run("", func(t *testing.T) { // its clean-up closes everything
			h := newStar(t, 2, specs, linktest.Patience, linktest.NewAverager(2, specs).Handle)
			groups := newGroups(t, 2, linktest.Patience, linktest.Same(specs...))
			for k := range specs {
				first, second := h.links[0].PushPull(0, h.stores[0].Buckets[k]), h.links[1].PushPull(0, h.stores[1].Buckets[k])
				commtest.Must(t, first.Wait())
				commtest.Must(t, second.Wait())
				first, second = groups[0].AllReduce(0, groups[0].bucket(k, false)), groups[1].AllReduce(0, groups[1].bucket(k, true))
				commtest.Must(t, first.Wait())
				commtest.Must(t, second.Wait())
			}
			for _, l := range h.links {
				commtest.Must(t, l.Close())
			}
			commtest.Must(t, <-h.served)
		})
	}
	once()
	before := linktest.FootprintNow(t)
	for range 100 {
		once()
	}
	after := linktest.FootprintNow(t)
	const slack = 10 // of the runtime and the test itself
	if after.Descriptors > before.Descriptors+slack || after.Mappings > before.Mappings || after.Goroutines > before.Goroutines+slack {
		t.Errorf("100 links more took %+v, before them it was %+v", after, before)
	}
}

// Nothing is allocated in the steady state, wherever gradients lie and however many
// there are.
func TestSharedSteadyStateInPlaceDoesNotAllocate(t *testing.T) {
	const ranks = 3
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 100), commtest.DenseSpec(1, 1<<16), commtest.SparseSpec(2, 40, 3, 40)}
	h := newStar(t, ranks, specs, linktest.Patience, linktest.NewAverager(ranks, specs).Handle)
	groups := newGroups(t, ranks, linktest.Patience, linktest.Same(specs...))
	batches := make([]int64, ranks)
	p := linktest.NewTogether(ranks, func(rank int) error {
		batch := batches[rank]
		batches[rank]++
		for k := range specs {
			for _, f := range []*comm.Future{
				h.links[rank].PushPull(batch, h.stores[rank].Buckets[k]),
				groups[rank].AllReduce(batch, groups[rank].bucket(k, false)),
			} {
				if err := f.Wait(); err != nil {
					return err
				}
			}
			if err := groups[rank].Broadcast(batch, groups[rank].bucket(k, false), k%ranks).Wait(); err != nil {
				return err
			}
		}
		return groups[rank].Barrier()
	})
	t.Cleanup(p.Close)
	p.Round(t)
	if allocs := testing.AllocsPerRun(50, func() { p.Round(t) }); allocs != 0 {
		t.Errorf("a round allocates %g times, want 0", allocs)
	}
}
