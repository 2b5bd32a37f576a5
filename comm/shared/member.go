package shared

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// member is a member's memory.
type member struct {
	name    string
	control *shm.Segment
	stores  [2]*comm.Store // by place
	bell    shm.Bell
	// Counters of operations, each set by the member alone: those that it has
	// begun, those whose first half it has done, those that it has ended.
	begun, halved, ended *layout.WordLine
	lines                []layout.StepLine // of operation n at n modulo their count, a power of two
	eager                [2][]byte         // inputs of small operations, alternating
	reduced              []float32         // its part of a sparse sum
	left                 atomic.Bool       // it has left the group in order
	place, rows          int32             // of its gradient in the operation that all agreed on
	address              uint64            // of its values, if they are in its process
	process              *shm.Process      // nil where its memory is out of reach
	probe                *layout.ProbeLine
}

// inProcess says that the gradient is in ordinary memory of its process.
func (m *member) inProcess() bool { return m.place == layout.InProcess }

// memberLines are those of a member before its operations: three counters and the probe.
const memberLines = 4

// groupLayout is where things lie in a member's control segment; what is used
// once per operation comes first.
type groupLayout struct {
	lines, eager, reduced, size int // eager and reduced: first bytes
	reducedElements             int
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
	l.size = layout.RoundUp(l.reduced+4*l.reducedElements, layout.PageBytes)
	return l
}

func (m *member) lay(l groupLayout) {
	m.bell = layout.BellOf(m.control)
	words := layout.LinesOf[layout.WordLine](m.control, shm.BellSize, memberLines-1)
	m.begun, m.halved, m.ended = &words[0], &words[1], &words[2]
	m.probe = &layout.LinesOf[layout.ProbeLine](m.control, shm.BellSize+(memberLines-1)*layout.LineBytes, 1)[0]
	m.lines = layout.LinesOf[layout.StepLine](m.control, shm.BellSize+memberLines*layout.LineBytes, l.lines)
	for i := range m.eager {
		m.eager[i] = m.control.Bytes()[l.eager+i*comm.EagerBytes:][:comm.EagerBytes]
	}
	m.reduced = tensor.ViewOf[float32](m.control.Bytes()[l.reduced:], l.reducedElements)
}

// exchange passes segments to all others and maps theirs, in an order in which no circle of
// members waits for each other.
func (g *group) exchange(store *comm.Store, specs []tensor.BucketSpec) (err error) {
	plan := layoutOfGroup(specs, len(g.conns))
	g.own = &member{name: g.Self}
	g.members[g.position] = g.own
	if g.own.control, err = shm.New(g.Self+" group", plan.size, true); err != nil {
		return err
	}
	if g.own.stores[layout.InCopies], err = layout.NewStore(g.Self+" group copies", specs, false); err != nil {
		return err
	}
	g.own.stores[layout.InStore] = store
	if store.Segment == nil {
		g.own.stores[layout.InStore] = g.own.stores[layout.InCopies]
	}
	g.own.lay(plan)
	g.probe = newProbe(len(g.conns), g.own.probe)
	g.Wake = g.own.bell.Shake
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
// of them would make set-up quadratic in the members. Those of sparse gradients, of which
// nobody knows yet how many rows they have, are mapped at their first use, in the warm-up.
func (g *group) mapMemory(m *member, conn *wire.Conn, plan groupLayout, specs []tensor.BucketSpec) error {
	size := layout.StoreBytes(specs)
	all, err := conn.ReceiveSegments(false,
		wire.WantedSegment{Size: plan.size, Prefault: true}, wire.WantedSegment{Size: size}, wire.WantedSegment{Size: size})
	if err != nil {
		return err
	}
	m.control = all[0]
	m.stores[layout.InStore], m.stores[layout.InCopies] = layout.ViewStore(all[1], specs), layout.ViewStore(all[2], specs)
	m.lay(plan)
	m.process = reach(conn, m.probe, g.position)
	for _, b := range m.stores[layout.InStore].Buckets {
		if b.Sparse || isEager(&b.BucketSpec) {
			continue
		}
		from, to := g.slice(b.Elements)
		if err := shm.Prefault(tensor.Float32Bytes(b.Gradient.Values[from:to])); err != nil {
			return fmt.Errorf("%s, bucket %d of %s: %w", g.Self, b.Index, m.name, err)
		}
	}
	return nil
}
