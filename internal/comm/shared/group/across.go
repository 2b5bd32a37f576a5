package group

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/op"
)

// Summer adds the sums of other hosts to the sum over a host's members. Only
// some members have a Summer: see hosts.Layout. Each call carries out one
// operation and ends by the operation's deadline; only one call runs at a time.
// Summer reports its progress on a dense gradient to the stage, which works in
// the host's memory in parallel. HangUp makes a running call fail.
type Summer interface {
	Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	SumRows(o *op.Reduction, g *tensor.Gradient) error
	HangUp()
	Close(orderly bool)
}

// Relay joins a group to the groups of other hosts.
type Relay interface {
	Summer
	// First reports whether this is the relay of the first rail.
	First() bool
	ReduceScatter(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	AllGather(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	AllToAll(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error
	Broadcast(o *op.Reduction, g *tensor.Gradient, host int) error
	Barrier(o *op.Reduction) error
}

// relayGrace is the extra time that a member gives members of its host, because
// those members may in turn wait for other hosts. Members that wait for other
// hosts can name the late rank.
const relayGrace = 250 * time.Millisecond

// An all-reduce over several hosts is hierarchical, as in MPI implementations
// and in Horovod (Sergeev and Del Balso, "Horovod", 2018,
// HOROVOD_HIERARCHICAL_ALLREDUCE). The all-reduce has three phases: a sum
// within each host, rings among hosts, and copies of the sums within each host.
// As in NCCL, there are several rings: one per member of the smallest host (R).
// Each ring carries a part of the bucket over its own connections. A member
// without a ring only waits.
//
// The three phases overlap, frame by frame. A rail's member sums the next part
// in all members' memory while the previous part is in transit. The rail's
// member also writes finished parts to all members while the next part arrives.
//
// With n members per host, H hosts and a bucket of S bytes, each host reads and
// writes n*S in memory, as sumSlices does, and sends 2(H-1)/H*S in 2(H-1)
// steps. One flat ring would send as much between hosts, but in 2(T-1) steps.
// The flat ring would also send as much from member to member within each host.
// The order of additions depends on the group's hosts, so the last bits of a
// sum differ from a sum on one host. All members get equal bits.
//
// The other operations work in the same way. The comment of stream.Relay has
// their costs between hosts. Within a host they cost as much as in a group on
// one host.

// carryAcross is carryOut for a group on several hosts.
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

// Prepare implements op.Stage. In a sum, it adds the host's values into this
// member's gradient. In an all-gather, it copies the shard of a member of this
// host to all members of the host.
func (s *step) Prepare(span op.Span) {
	g := s.group
	if s.kind == stepAllGather {
		s.spread(g.memberAt(span.Owner), span)
		return
	}
	own := s.values(g.own)[span.From:span.To]
	for from := 0; from < len(own); from += comm.BlockElements {
		to := min(from+comm.BlockElements, len(own))
		for _, m := range g.members {
			if m != g.own {
				vec.Add(own[from:to], s.values(m)[span.From+from:span.From+to])
			}
		}
	}
}

// Finish implements op.Stage: it copies final values to the members that need
// them.
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

// spread copies a span of a member's values to all other members of the host.
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

// first is the member on the first rail.
func (g *group) first() *member { return g.members[0] }

// onFirst runs do on the member on the first rail; the other members wait for
// it.
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

// meetAcross is a barrier in three steps: within the host, among hosts, and
// within the host again.
func (g *group) meetAcross(s *step) error {
	err := g.meet(s)
	if err == nil {
		err = g.onFirst(s, func() error { return g.relay.Barrier(s.op) })
	}
	g.end(s)
	return err
}

// allToAllAcross makes members exchange their blocks within the host. Meanwhile
// the first member exchanges all members' blocks with other hosts.
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

// sumRowsAcross is an all-reduce of rows. Each host sums its own rows, the
// first members exchange these sums, and the other members copy the result.
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

// broadcastAcross copies the root's gradient in three steps: within the root's
// host, then from host to host between first members, then within each of these
// hosts.
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

// showAgain publishes the current rows of this member's gradient.
func (g *group) showAgain(s *step) {
	b := s.Bucket()
	b.ShowRows(b.Gradient.Rows)
	g.own.line(s.number).Rows = int32(len(b.Gradient.Rows)) // #nosec G115 -- rows are int32
}

// copyFirst copies the first member's gradient to this member and waits until
// all members have done so.
func (g *group) copyFirst(s *step) error {
	if first := g.first(); first != g.own {
		first.rows = first.line(s.number).Rows
		if err := g.copyFrom(s, first); err != nil {
			return err
		}
	}
	return g.endTogether(s)
}

// copyFrom copies another member's gradient to this member.
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
