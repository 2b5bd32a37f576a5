package group

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// sumEagerly is an all-reduce in one step. Each member publishes a copy of its
// gradient, waits for the other T-1 copies and sums all T in the order of
// positions. A member reads (T+1)*S and writes 2*S bytes.
//
// Inputs alternate between two buffers, so no member has to wait until all have
// read its copy. Before a member reuses a buffer, all members have begun the
// operation in between, and so have finished reading.
func (g *group) sumEagerly(s *step) error {
	out := s.op.Gradient.Values
	bytes := 4 * len(out)
	copy(g.own.eager[s.number%2], tensor.Float32Bytes(out))
	if err := g.meet(s); err != nil {
		return err
	}
	for i, m := range g.members {
		part := tensor.ViewOf[float32](m.eager[s.number%2][:bytes], len(out))
		if i == 0 {
			copy(out, part)
		} else {
			vec.Add(out, part)
		}
	}
	s.finish(out)
	g.end(s)
	return nil
}

// sumSlices is an all-reduce in two steps, like the reduce-scatter and
// all-gather of a ring but without the ring. Once all have posted, each member
// sums its T-th of all members' buckets, in the order of positions, and writes
// the sum to all members. Then the member waits until all have done so. A
// member reads S and writes S bytes; all members together read and write T*S
// each.
func (g *group) sumSlices(s *step) error {
	shown := s.Place == layout.InProcess
	if shown {
		if err := g.showFirst(s); err != nil {
			return err
		}
	}
	if err := g.waitPosted(s); err != nil {
		return err
	}
	if slices.ContainsFunc(g.members, (*member).inProcess) {
		if !shown {
			if err := g.showFirst(s); err != nil {
				return err
			}
		}
		return g.sumChunks(s)
	}
	from, to := slice(s.op.Spec.Elements, len(g.members), g.position)
	for i, m := range g.members {
		g.parts[i] = s.values(m)[from:to]
	}
	g.sumParts(s)
	return g.endTogether(s)
}

// sumParts replaces all parts, which have equal length, by their sum in the
// order of positions.
func (g *group) sumParts(s *step) {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	between := g.parts[1 : len(g.parts)-1]
	for from := 0; from < len(first); from += comm.BlockElements {
		to := min(from+comm.BlockElements, len(first))
		sum := first[from:to]
		for _, part := range between {
			vec.Add(sum, part[from:to])
		}
		vec.AddBoth(s.factor(), sum, last[from:to])
		for _, part := range between {
			copy(part[from:to], sum)
		}
	}
}

// slice is the range of a dense bucket of n elements that the member at
// position sums: a T-th, in whole pages.
func slice(n, size, position int) (from, to int) {
	each := sliceElements(n, size)
	return min(position*each, n), min((position+1)*each, n)
}

// sliceElements is the length of the first slice; no slice is longer.
func sliceElements(n, size int) int {
	return layout.RoundUp((n+size-1)/size, layout.PageBytes/4)
}

// isEager reports whether a dense bucket is summed in one step, from copies.
func isEager(b *tensor.BucketSpec) bool { return 4*b.Elements <= comm.EagerBytes }

// factor is the factor that turns a sum into the result: 1, or 1/T for an
// average on one host.
func (s *step) factor() float32 {
	if s.kind == stepAverage && !s.group.isAcross() { // across hosts the relay divides
		return 1 / float32(len(s.group.members))
	}
	return 1
}

// finish turns sums into the operation's result.
func (s *step) finish(sums []float32) {
	if factor := s.factor(); factor != 1 {
		vec.Scale(factor, sums)
	}
}

// sumRows is an all-reduce of rows in three steps. First, every member merges
// all lists of rows. Second, every member sums a T-th of the union, row by row
// in the order of positions, into its own memory. Third, every member waits for
// the others' parts and copies all of them into its gradient. With U rows in
// the union and R rows in all gradients together, a member reads R/T + U rows
// and writes U/T + U.
func (g *group) sumRows(s *step) error {
	if err := g.mergeParts(s); err != nil {
		return err
	}
	g.end(s)
	return nil
}

// mergeParts is sumRows without the final announcement that this member has
// ended.
func (g *group) mergeParts(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	// The other members may still be reading this member's part of the last
	// sum.
	if err := g.await(s, allEndedBefore); err != nil {
		return err
	}
	if err := g.mergeRows(s); err != nil {
		return err
	}
	size, width := len(g.members), s.op.Spec.Width
	part := func(i int) (from, to int) { return i * len(g.union) / size, (i + 1) * len(g.union) / size }
	from, to := part(g.position)
	sums := g.own.reduced[:(to-from)*width]
	g.merger.SumRows(g.union[from:to], sums)
	s.finish(sums)
	g.own.halved.Store(s.number + 1)
	g.ring()
	if err := g.await(s, allHalved); err != nil {
		return err
	}
	out := &s.Bucket().Gradient
	if err := out.SetRows(len(g.union)); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	copy(out.Rows, g.union)
	for i, m := range g.members {
		from, to := part(i)
		copy(out.Values[from*width:to*width], m.reduced)
	}
	return nil
}

// mergeRows merges the rows of all members into union.
func (g *group) mergeRows(s *step) (err error) {
	g.merger.Reset()
	for _, m := range g.members {
		if m == g.own {
			g.merger.Add(s.op.Gradient)
			continue
		}
		part := s.of(m)
		if err := part.TakeRows(int(m.rows)); err != nil {
			return fmt.Errorf("%s sent to %s: %w", m.name, g.Self, err)
		}
		g.merger.Add(&part.Gradient)
	}
	// The members' memory for parts of the sum has room for Capacity rows in
	// total.
	if g.union, err = g.merger.Union(g.unionRoom[:0:s.op.Spec.Capacity]); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	return nil
}

// broadcast is one step. The other members copy the root's gradient, reading
// and writing S bytes each, and the root waits until all have done so.
func (g *group) broadcast(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	if root := g.members[s.root]; root != g.own {
		if err := g.copyFrom(s, root); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// Barrier implements comm.Group. Barrier takes one step and moves no data.
// Barrier has the errors of AllReduce.
func (g *group) Barrier() error {
	if g.Size() == 1 {
		return nil
	}
	if err := g.BeginBarrier(); err != nil {
		return err
	}
	g.post(g.barrier)
	return g.BarrierOp.Future().Wait()
}
