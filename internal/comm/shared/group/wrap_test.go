package group

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// startAt makes the group number its operations and turns from start on, as if
// all earlier ones had ended.
func (g *group) startAt(start uint32) {
	g.posted, g.turn = start, start
	for _, at := range []*layout.WordLine{g.own.begun, g.own.halved, g.own.ended, g.own.filled} {
		at.Store(start)
	}
	for i := range g.own.lines {
		g.own.lines[i].Posted.Store(start)
	}
}

// Operation numbers may wrap at 2^32, for any number of members and buckets.
func TestSharedGroupNumbersWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, count := rapid.IntRange(2, 4).Draw(t, "members"), rapid.IntRange(1, 9).Draw(t, "buckets")
		var specs []tensor.BucketSpec
		for k := range count {
			switch k % 3 {
			case 0:
				specs = append(specs, commtest.DenseSpec(k, 3)) // small enough for eager sums
			case 1:
				specs = append(specs, commtest.SparseSpec(k, 9, 2, 9))
			default:
				specs = append(specs, commtest.DenseSpec(k, comm.EagerBytes/4+1))
			}
		}
		groups := newGroups(t, size, linktest.Patience, linktest.Same(specs...))
		start := math.MaxUint32 - rapid.Uint32Range(0, 3*uint32(count)).Draw(t, "before the wrap")
		for _, g := range groups {
			g.startAt(start)
		}
		linktest.RequireSums(t, groups, specs, 5, func(member, k int) *tensor.Bucket {
			b := groups[member].bucket(k, member == 0)
			commtest.Fill(t, b.BucketSpec, &b.Gradient, 9)
			return b
		})
		if after := groups[0].posted; after >= start {
			t.Fatalf("the numbers went from %d to %d and have not wrapped", start, after)
		}
	})
}
