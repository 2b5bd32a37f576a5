package group

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
)

// Summer adds the sums of other hosts to the sum of a host's members. Some members have one: see hosts.Layout.
// Its calls carry one operation each, one at a time, and end by the operation's deadline. It reports its progress
// on a dense gradient to the stage, which works in the memory of the host meanwhile. HangUp makes a running call
// fail.
type Summer interface {
	Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	SumRows(o *op.Reduction, g *tensor.Gradient) error
	HangUp()
	Close(orderly bool)
}

// Relay joins a group to the groups of other hosts.
type Relay interface {
	Summer
	// First says that it is the first rail's.
	First() bool
	ReduceScatter(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	AllGather(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	AllToAll(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	Broadcast(o *op.Reduction, g *tensor.Gradient, host int) error
	Barrier(o *op.Reduction) error
}

// relayGrace is how much longer a member waits for members of its host that may wait for other hosts:
// those can name the late rank.
const relayGrace = 250 * time.Millisecond

// An all-reduce of a group on several hosts is hierarchical, as MPI implementations and Horovod
// have it (Sergeev and Del Balso, "Horovod", 2018, HOROVOD_HIERARCHICAL_ALLREDUCE): a sum within each
// host, rings among hosts, and the sums spread within each host. As in NCCL's rings, there are as
// many of the latter as members of the smallest host (R), each with a part of the bucket, over
// connections of their own; a member beyond them only waits. The three phases overlap, frame by frame:
// a rail's member sums the next part in all members' memory while the previous one is on the
// wire, and writes finished parts to all members while the next arrives.
//
// With n members a host, H hosts and a bucket of S bytes the host reads and writes n*S each in memory,
// as sumSlices does, and sends 2(H-1)/H*S in 2(H-1) steps. Members of one flat ring send as much over the
// link between hosts, but in 2(T-1) steps, and all of it within hosts as well. The order of additions
// differs from group to group, so sums differ in their last bits from the sums of one host; all members
// get equal bits.
//
// The other operations work likewise. The comment of stream.Relay has their costs between hosts; within
// a host they cost as much as in a group of one host.

// carryAcross is carryOut where the group is on several hosts.
func (g *group) carryAcross(s *step) error {
	switch {
	case s.kind == stepBarrier:
		return g.meetAcross(s)
	case s.kind == stepBroadcast:
		return g.broadcastAcross(s)
	case s.kind == stepAllToAll:
		return g.allToAllAcross(s)
	case s.op.Spec.Sparse:
		return g.sumRowsAcross(s)
	}
	if err := g.waitPosted(s); err != nil {
		return err
	}
	if g.sums != nil {
		relay := g.sums.Sum
		switch s.kind {
		case stepReduceScatter:
			relay = g.relay.ReduceScatter
		case stepAllGather:
			relay = g.relay.AllGather
		}
		if err := relay(s.op, &s.Bucket().Gradient, s); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// Prepare implements op.Stage: of a sum it makes the host's sum in this member's gradient, of an
// all-gather it gives a shard of a member of this host to all of them.
func (s *step) Prepare(span op.Span) {
	g := s.group
	if s.kind == stepAllGather {
		s.spread(g.memberAt(span.Owner), span)
		return
	}
	own := s.values(g.own)[span.From:span.To]
	if g.accumulates(s) {
		for i, m := range g.members {
			g.parts[i] = s.values(m)[span.From:span.To]
		}
		g.accumulate(s, own)
		return
	}
	sums := s.op.Spec.Type.Arithmetic()
	for from := 0; from < len(own); from += comm.BlockElements {
		to := min(from+comm.BlockElements, len(own))
		for _, m := range g.members {
			if m != g.own {
				sums.Add(own[from:to], s.values(m)[span.From+from:span.From+to])
			}
		}
	}
}

// Finish implements op.Stage: it gives final values to the members that need them.
func (s *step) Finish(span op.Span) {
	g := s.group
	if s.kind != stepReduceScatter {
		s.spread(g.own, span)
	} else if owner := g.memberAt(span.Owner); owner != g.own {
		copy(s.values(owner)[span.From:span.To], s.values(g.own)[span.From:span.To])
	}
}

// Values implements op.Stage.
func (s *step) Values(position int) []float32 { return s.values(s.group.memberAt(position)) }

// spread copies a span of a member's values to all others of the host.
func (s *step) spread(from *member, span op.Span) {
	values := s.values(from)[span.From:span.To]
	for _, m := range s.group.members {
		if m != from {
			copy(s.values(m)[span.From:span.To], values)
		}
	}
}

// memberAt is the member of this host at a position of the group.
func (g *group) memberAt(position int) *member {
	_, place := g.layout.HostOf(position)
	return g.members[place]
}

// first is the member with the first rail.
func (g *group) first() *member { return g.members[0] }

// onFirst has the member with the first rail do something, for which the others wait.
func (g *group) onFirst(s *step, do func() error) error {
	if g.own == g.first() {
		if err := do(); err != nil {
			return err
		}
	}
	g.own.filled.Store(g.turn + 1)
	g.ring()
	err := g.await(s, allFilled)
	g.turn++
	return err
}

// meetAcross is a barrier: within the host, among hosts, and within the host again.
func (g *group) meetAcross(s *step) error {
	err := g.meet(s)
	if err == nil {
		err = g.onFirst(s, func() error { return g.relay.Barrier(s.op) })
	}
	g.end(s)
	return err
}

// allToAllAcross has members exchange their blocks within the host while the first one exchanges
// those of all with other hosts.
func (g *group) allToAllAcross(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	g.swapBlocks(s)
	if g.own == g.first() {
		if err := g.relay.AllToAll(s.op, &s.Bucket().Gradient, s); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// sumRowsAcross is an all-reduce of rows: each host sums its own, the first members exchange those
// sums, and the others copy the result.
func (g *group) sumRowsAcross(s *step) error {
	if err := g.mergeParts(s); err != nil {
		return err
	}
	err := g.onFirst(s, func() error {
		if err := g.sums.SumRows(s.op, &s.Bucket().Gradient); err != nil {
			return err
		}
		g.showAgain(s)
		return nil
	})
	if err != nil {
		return err
	}
	return g.copyFirst(s)
}

// broadcastAcross copies the root's gradient within its host, from there to the first members of
// the other hosts, one after the other, and then within these.
func (g *group) broadcastAcross(s *step) error {
	if err := g.waitPosted(s); err != nil {
		return err
	}
	host, place := g.layout.HostOf(s.root)
	here := host == g.layout.Host
	if here && g.members[place] != g.own {
		if err := g.copyFrom(s, g.members[place]); err != nil {
			return err
		}
	}
	err := g.onFirst(s, func() error {
		err := g.relay.Broadcast(s.op, &s.Bucket().Gradient, host)
		if err == nil && !here {
			g.showAgain(s)
		}
		return err
	})
	if err != nil {
		return err
	}
	if here {
		return g.endTogether(s)
	}
	return g.copyFirst(s)
}

// showAgain shows the rows that this member's gradient has now.
func (g *group) showAgain(s *step) {
	b := s.Bucket()
	b.ShowRows(b.Gradient.Rows)
	g.own.line(s.number).Rows = int32(len(b.Gradient.Rows)) // #nosec G115 -- rows are int32
}

// copyFirst makes this member's gradient that of the first, and waits until all have.
func (g *group) copyFirst(s *step) error {
	if first := g.first(); first != g.own {
		first.rows = first.line(s.number).Rows
		if err := g.copyFrom(s, first); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// copyFrom makes this member's gradient that of another.
func (g *group) copyFrom(s *step, m *member) error {
	from, out := s.of(m), &s.Bucket().Gradient
	if s.op.Spec.Sparse {
		if err := from.TakeRows(int(m.rows)); err != nil {
			return fmt.Errorf("%s sent to %s: %w", m.name, g.Self, err)
		}
	}
	if err := out.CopyFrom(&from.Gradient); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, s.op, err)
	}
	return nil
}
