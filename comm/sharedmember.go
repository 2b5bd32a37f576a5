package comm

import (
	"math/bits"
	"sync/atomic"

	"github.com/psbench/psbench/comm/shm"
)

// sharedMember is a member's memory.
type sharedMember struct {
	name    string
	control *shm.Segment
	stores  [2]*Store // by place
	bell    shm.Bell
	// Counters of operations, each set by the member alone: those that it has
	// begun, those whose first half it has done, those that it has ended.
	begun, halved, ended *wordLine
	lines                []stepLine  // of operation n at n modulo their count, a power of two
	eager                [2][]byte   // inputs of small operations, alternating
	reduced              []float32   // its part of a sparse sum
	left                 atomic.Bool // it has left the group in order
	place, rows          int32       // of its gradient in the operation that all agreed on
}

// EagerBytes bounds the buckets that a group on Shm reduces from copies of all
// inputs: one wait instead of two, for T times the reading.
const EagerBytes = 16 << 10

// groupLayout is where things lie in a member's control segment; what is used
// once per operation comes first.
type groupLayout struct {
	lines, eager, reduced, size int // eager and reduced: first bytes
	reducedElements             int
}

func layoutOfGroup(specs []BucketSpec) groupLayout {
	var l groupLayout
	// A member can be ahead of another by what both can have pending: each bucket
	// and a barrier. Numbers wrap at 2^32, and only a power of two of lines wraps there
	// as well: otherwise the line after the last number would be one still in use.
	l.lines = 1 << bits.Len(uint(2*(len(specs)+4)-1)) // #nosec G115 -- above 0
	l.eager = roundUp(shm.BellSize+3*lineBytes+l.lines*lineBytes, pageBytes)
	l.reduced = l.eager + 2*EagerBytes
	for i := range specs {
		if specs[i].Sparse {
			l.reducedElements = max(l.reducedElements, specs[i].Capacity*specs[i].Width)
		}
	}
	l.size = roundUp(l.reduced+4*l.reducedElements, pageBytes)
	return l
}

func (m *sharedMember) lay(l groupLayout) {
	m.bell = bellOf(m.control)
	words := linesOf[wordLine](m.control, shm.BellSize, 3)
	m.begun, m.halved, m.ended = &words[0], &words[1], &words[2]
	m.lines = linesOf[stepLine](m.control, shm.BellSize+3*lineBytes, l.lines)
	for i := range m.eager {
		m.eager[i] = m.control.Bytes()[l.eager+i*EagerBytes:][:EagerBytes]
	}
	m.reduced = viewOf[float32](m.control.Bytes()[l.reduced:], l.reducedElements)
}

// trade exchanges segments with all others, in an order in which no circle of
// members waits for each other.
func (g *sharedGroup) trade(store *Store, specs []BucketSpec) (err error) {
	layout := layoutOfGroup(specs)
	g.own = &sharedMember{name: g.self}
	g.members[g.position] = g.own
	if g.own.control, err = shm.New(g.self+" group", layout.size, true); err != nil {
		return err
	}
	if g.own.stores[inCopies], err = newSegmentStore(g.self+" group copies", specs, false); err != nil {
		return err
	}
	g.own.stores[inStore] = store
	if store.segment == nil {
		g.own.stores[inStore] = g.own.stores[inCopies]
	}
	g.own.lay(layout)
	for i, conn := range g.conns {
		if i == g.position {
			continue
		}
		g.members[i] = &sharedMember{name: conn.peer}
		if err := conn.bound(g.timeout); err != nil {
			return err
		}
		trades := []func() error{
			func() error { return g.show(conn) },
			func() error { return g.members[i].see(conn, layout, specs) },
		}
		first := 0
		if g.position > i {
			first = 1
		}
		if err := trades[first](); err != nil {
			return err
		}
		if err := trades[1-first](); err != nil {
			return err
		}
		if err := conn.lift(); err != nil {
			return err
		}
	}
	return nil
}

// show passes this member's memory to another.
func (g *sharedGroup) show(conn *Conn) error {
	own := g.own
	for _, s := range []*shm.Segment{own.control, own.stores[inStore].segment, own.stores[inCopies].segment} {
		if err := conn.SendSegment(s); err != nil {
			return err
		}
	}
	return nil
}

// see maps the memory of another member.
func (m *sharedMember) see(conn *Conn, layout groupLayout, specs []BucketSpec) (err error) {
	if m.control, err = conn.ReceiveSegment(layout.size, false); err != nil {
		return err
	}
	for place := range m.stores {
		if m.stores[place], err = conn.receiveStore(specs, int32(place) == inStore); err != nil { // #nosec G115 -- one of two
			return err
		}
	}
	m.lay(layout)
	return nil
}
