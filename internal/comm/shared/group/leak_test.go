package group

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// Groups that end in order leak nothing, even after a hundred groups.
func TestHundredGroupsLeaveNothing(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 10_000), commtest.SparseSpec(1, 40, 3, 40)}
	linktest.RequireNothingLeft(t, func(t *testing.T) {
		groups := newGroups(t, 2, linktest.Patience, linktest.Same(specs...))
		for k := range specs {
			first := groups[0].AllReduce(0, groups[0].bucket(k, false))
			second := groups[1].AllReduce(0, groups[1].bucket(k, true))
			commtest.Must(t, first.Wait())
			commtest.Must(t, second.Wait())
		}
	})
}

// Operations allocate nothing in the steady state, wherever the gradients lie.
func TestSharedSteadyStateInPlaceDoesNotAllocate(t *testing.T) {
	const ranks = 3
	specs := []tensor.BucketSpec{
		commtest.DenseSpec(0, 100), commtest.DenseSpec(1, 1<<16), commtest.SparseSpec(2, 40, 3, 40),
	}
	groups := newGroups(t, ranks, linktest.Patience, linktest.Same(specs...))
	linktest.RequireNoAllocation(t, ranks, func(rank int, batch int64) error {
		g := groups[rank]
		for k := range specs {
			if err := g.AllReduce(batch, g.bucket(k, false)).Wait(); err != nil {
				return err
			}
			if err := g.Broadcast(batch, g.bucket(k, false), k%ranks).Wait(); err != nil {
				return err
			}
		}
		return g.Barrier()
	})
}
