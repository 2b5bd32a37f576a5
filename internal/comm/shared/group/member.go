package group

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// member is a member's memory, as this process maps it.
type member struct {
	name    string
	control *shm.Segment
	stores  [2]*comm.Store   // by the gradient's place
	lent    []*tensor.Bucket // buckets on a device, in the order of the specs; nil if not shared
	bell    shm.Bell
	// begun, halved and ended count the operations that the member has begun,
	// half done and ended. filled counts the turns in which it has filled a
	// slot. Only the member itself sets these counters.
	begun, halved, ended *layout.WordLine
	filled               *layout.WordLine
	lines                []layout.StepLine // operation n uses line n modulo their number, a power of two
	eager                [2][]byte         // inputs of small operations, in alternation
	reduced              []float32         // the member's part of a sparse sum
	left                 atomic.Bool       // the member has left the group in order
	place, rows          int32             // of the member's gradient in the agreed operation
	slots                slots
}

// inProcess reports whether the gradient is in ordinary memory of its process.
func (m *member) inProcess() bool { return m.place == layout.InProcess }

// memberLines is the number of counters, which precede the operations' lines.
const memberLines = 4

// groupLayout is the layout of a member's control segment. Data that each
// operation uses once comes first. The slots come last, because their pages are
// only allocated if a sum uses them.
type groupLayout struct {
	lines, eager, reduced, slots, size int // eager, reduced and slots are offsets of first bytes
	reducedElements, members           int
}

// layoutOfGroup is the layout for a group of this many members. Each member
// reduces a share of a sparse sum's rows.
func layoutOfGroup(specs []tensor.BucketSpec, members int) groupLayout {
	var l groupLayout
	// A member can be ahead of another by everything that both can have
	// pending: each bucket and a barrier. Operation numbers wrap at 2^32. With
	// a power of two of lines, the line index wraps there too; otherwise the
	// operation after the last number would get a line that is still in use.
	l.lines = 1 << bits.Len(uint(2*(len(specs)+4)-1)) // #nosec G115 -- above 0
	l.eager = layout.RoundUp(shm.BellSize+memberLines*layout.LineBytes+l.lines*layout.LineBytes, layout.PageBytes)
	l.reduced = l.eager + 2*comm.EagerBytes
	for i := range specs {
		if specs[i].Sparse {
			rows := (specs[i].Capacity + members - 1) / members
			l.reducedElements = max(l.reducedElements, rows*specs[i].Width)
		}
	}
	l.slots = layout.RoundUp(l.reduced+4*l.reducedElements, layout.PageBytes)
	l.size, l.members = l.slots+slotBytes(members), members
	return l
}

// lay assigns the parts of a member's control segment and touches all pages
// except the slots.
func (m *member) lay(l groupLayout) error {
	m.bell = layout.BellOf(m.control)
	words := layout.LinesOf[layout.WordLine](m.control, shm.BellSize, memberLines)
	m.begun, m.halved, m.ended, m.filled = &words[0], &words[1], &words[2], &words[3]
	m.lines = layout.LinesOf[layout.StepLine](m.control, shm.BellSize+memberLines*layout.LineBytes, l.lines)
	for i := range m.eager {
		m.eager[i] = m.control.Bytes()[l.eager+i*comm.EagerBytes:][:comm.EagerBytes]
	}
	m.reduced = tensor.ViewOf[float32](m.control.Bytes()[l.reduced:], l.reducedElements)
	m.slots = viewSlots(m.control.Bytes()[l.slots:], l.members)
	return shm.Prefault(m.control.Bytes()[:l.slots])
}

// exchange passes this member's segments to all others and maps theirs. Its
// order avoids a circle of members that wait for each other.
func (g *group) exchange(store *comm.Store, specs []tensor.BucketSpec) (err error) {
	plan := layoutOfGroup(specs, len(g.conns))
	g.own = &member{name: g.Self}
	g.members[g.position] = g.own
	if err := shm.Reserve(g.Self+" group", int64(plan.slots)); err != nil {
		return err
	}
	if g.own.control, err = shm.New(g.Self+" group", plan.size, false); err != nil {
		return err
	}
	if g.own.stores[layout.InCopies], err = layout.NewStore(g.Self+" group copies", specs, false); err != nil {
		return err
	}
	g.own.stores[layout.InStore] = store
	if store.Segment == nil {
		g.own.stores[layout.InStore] = g.own.stores[layout.InCopies]
	}
	if err := g.own.lay(plan); err != nil {
		return fmt.Errorf("%s: %w", g.Self, err)
	}
	g.lent.Show(&g.own.begun.Mark)
	g.Waiters = g.own.bell
	for i, conn := range g.conns {
		if i == g.position {
			continue
		}
		g.members[i] = &member{name: conn.Peer()}
		if err := conn.Bound(g.Timeout); err != nil {
			return err
		}
		passes := []func() error{
			func() error { return g.sendMemory(conn) },
			func() error { return g.mapMemory(g.members[i], conn, plan, specs) },
		}
		first := 0
		if g.position > i {
			first = 1
		}
		if err := passes[first](); err != nil {
			return err
		}
		if err := passes[1-first](); err != nil {
			return err
		}
		if err := conn.Lift(); err != nil {
			return err
		}
	}
	return nil
}

// sendMemory passes this member's memory to another.
func (g *group) sendMemory(conn *wire.Conn) error {
	return conn.SendSegments(g.own.control, g.own.stores[layout.InStore].Segment, g.own.stores[layout.InCopies].Segment)
}

// mapMemory maps another member's memory. Of every dense bucket, mapMemory
// touches at once the pages that this member reduces; in each iteration the
// member uses only these. Touching all pages would make set-up quadratic in the number of
// members. Pages of sparse gradients are mapped at their first use, in the
// warm-up, because their number of rows is unknown before.
func (g *group) mapMemory(m *member, conn *wire.Conn, plan groupLayout, specs []tensor.BucketSpec) error {
	size := layout.StoreBytes(specs)
	all, err := conn.ReceiveSegments(false,
		wire.WantedSegment{Size: plan.size}, wire.WantedSegment{Size: size}, wire.WantedSegment{Size: size})
	if err != nil {
		return err
	}
	m.control = all[0]
	m.stores[layout.InStore], m.stores[layout.InCopies] = layout.ViewStore(all[1], specs), layout.ViewStore(all[2],
		specs)
	if err := m.lay(plan); err != nil {
		return fmt.Errorf("%s, %s: %w", g.Self, m.name, err)
	}
	for _, b := range m.stores[layout.InStore].Buckets {
		if b.Sparse || !g.isAcross() && isEager(&b.BucketSpec) {
			continue
		}
		from, to := slice(b.Words(), g.layout.Rails, g.layout.Place) // nothing, of who has no rail
		if err := shm.Prefault(tensor.Float32Bytes(b.Gradient.Values[from:to])); err != nil {
			return fmt.Errorf("%s, bucket %d of %s: %w", g.Self, b.Index, m.name, err)
		}
	}
	return nil
}
