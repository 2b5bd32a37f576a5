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

// member is a member's memory.
type member struct {
	name    string
	control *shm.Segment
	stores  [2]*comm.Store   // by place
	lent    []*tensor.Bucket // on a device, in the order of the specs; nil where they are not shared
	bell    shm.Bell
	// Counters of operations, each set by the member alone: those that it has
	// begun, those whose first half it has done, those that it has ended; and of turns in
	// which it has filled a slot.
	begun, halved, ended *layout.WordLine
	filled               *layout.WordLine
	lines                []layout.StepLine // of operation n at n modulo their count, a power of two
	eager                [2][]byte         // inputs of small operations, alternating
	reduced              []float32         // its part of a sparse sum
	left                 atomic.Bool       // it has left the group in order
	place, rows          int32             // of its gradient in the operation that all agreed on
	slots                slots
}

// inProcess says that the gradient is in ordinary memory of its process.
func (m *member) inProcess() bool { return m.place == layout.InProcess }

// memberLines are those of a member before its operations, the counters.
const memberLines = 4

// groupLayout is where things lie in a member's control segment; what is used
// once per operation comes first. The slots come last, whose pages come into being only where
// there is a sum through them.
type groupLayout struct {
	lines, eager, reduced, slots, size int // eager, reduced and slots: first bytes
	reducedElements, members           int
}

// layoutOfGroup is the layout in a group of so many members. Each reduces a share of a
// sparse sum's rows.
func layoutOfGroup(specs []tensor.BucketSpec, members int) groupLayout {
	var l groupLayout
	// A member can be ahead of another by what both can have pending: each bucket
	// and a barrier. Numbers wrap at 2^32, and only a power of two of lines wraps there
	// as well: otherwise the line after the last number would be one still in use.
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

// lay lays what a member has over its control segment, and touches all but the slots.
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

// exchange passes segments to all others and maps theirs, in an order in which no circle of
// members waits for each other.
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

// mapMemory maps the memory of another member: at once the pages that this member reduces of
// every dense bucket, which is all that it touches there in every iteration. To map all
// of them would make set-up quadratic in the members. Pages of sparse gradients are mapped at
// their first use, in the warm-up: until then their number of rows is unknown.
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
