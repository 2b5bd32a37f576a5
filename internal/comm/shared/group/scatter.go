package group

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
)

// ReduceScatter implements comm.Group, with the errors of AllReduce.
func (g *group) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	return g.startDense(stepReduceScatter, batch, b)
}

// AllGather implements comm.Group, with the errors of AllReduce.
func (g *group) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	return g.startDense(stepAllGather, batch, b)
}

// AllToAll implements comm.Group, with the errors of AllReduce.
func (g *group) AllToAll(batch int64, b *tensor.Bucket) *comm.Future {
	return g.startDense(stepAllToAll, batch, b)
}

func (g *group) startDense(kind int32, batch int64, b *tensor.Bucket) *comm.Future {
	if err := op.RequireDense(g.Self, stepNames[kind], b); err != nil {
		return comm.Completed(err)
	}
	return g.start(kind, batch, b, 0)
}

// reduceScatter is the first half of sumSlices. Once all have posted, each
// member adds up its shard of all members' buckets, in the order of positions,
// and writes the sum into its own. A member reads S and writes S/T bytes; all
// members together read T*S and write S.
func (g *group) reduceScatter(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	from, to := s.op.Spec.ShardWords(len(g.members), g.position)
	own := s.values(g.own)[from:to]
	for i, m := range g.members {
		g.parts[i] = s.values(m)[from:to]
	}
	if g.accumulates(s) {
		g.accumulate(s, own)
		return g.endTogether(s)
	}
	sums := s.op.Spec.Type.Arithmetic()
	for from := 0; from < len(own); from += comm.BlockElements {
		to := min(from+comm.BlockElements, len(own))
		sum := g.block[:to-from]
		copy(sum, g.parts[0][from:to])
		for _, part := range g.parts[1:] {
			sums.Add(sum, part[from:to])
		}
		copy(own[from:to], sum)
	}
	return g.endTogether(s)
}

// allGather is one step. Each member copies the others' shards, reading and
// writing (T-1)/T*S bytes, and waits until no other member reads its own shard.
// A member begins with the next member's shard, so that not all members read
// from the same member at once.
func (g *group) allGather(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	own, size := s.values(g.own), len(g.members)
	for k := 1; k < size; k++ {
		i := (g.position + k) % size
		from, to := s.op.Spec.ShardWords(size, i)
		copy(own[from:to], s.values(g.members[i])[from:to])
	}
	return g.endTogether(s)
}

// allToAll is one step in place: block j of member i and block i of member j
// swap places. The member at the lower position swaps the first half, the other
// member the second half. A member reads and writes (T-1)/T*S bytes; no two
// members write the same element.
func (g *group) allToAll(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	g.swapBlocks(s)
	return g.endTogether(s)
}

// swapBlocks swaps this member's blocks with those of the other members on its
// host.
func (g *group) swapBlocks(s *step) {
	own, size, positions := s.values(g.own), g.Size(), g.layout.Here()
	here, hereEnd := s.op.Spec.BlockWords(size, g.Position())
	for k := 1; k < len(g.members); k++ {
		i := (g.position + k) % len(g.members)
		from, to := s.op.Spec.BlockWords(size, positions[i])
		mine, theirs := own[from:to], s.values(g.members[i])[here:hereEnd]
		half := len(mine) / 2
		if g.position < i {
			g.swap(mine[:half], theirs[:half])
		} else {
			g.swap(mine[half:], theirs[half:])
		}
	}
}

// swap swaps two slices of equal length, block by block.
func (g *group) swap(a, b []float32) {
	for len(a) > 0 {
		n := min(len(a), comm.BlockElements)
		kept := g.block[:n]
		copy(kept, a[:n])
		copy(a[:n], b[:n])
		copy(b[:n], kept)
		a, b = a[n:], b[n:]
	}
}
