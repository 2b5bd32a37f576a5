package group

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
)

// slotElements is the approximate size of a slot, 256 KiB. Two slots and the
// pieces of gradients that are copied in and out stay in the second-level
// cache, and there are few waits.
const slotElements = 64 << 10

// slots is a member's shared memory for a gradient that lies in ordinary
// memory. The gradient reaches the other members through slots, and the sum
// comes back through them. A slot has a chunk for each member's slice of the
// gradient, in the order of positions; the member that sums a slice works in
// its chunk. The two slots alternate: a member empties and fills one while
// others still use the other.
type slots [2][]float32

// chunkElements is the length of a chunk in a group of this many members.
func chunkElements(members int) int {
	return layout.RoundUp((slotElements+members-1)/members, comm.BlockElements)
}

// slotBytes is the size of a member's slots in bytes.
func slotBytes(members int) int { return len(slots{}) * 4 * members * chunkElements(members) }

// viewSlots interprets slotBytes(members) bytes as slots.
func viewSlots(at []byte, members int) (s slots) {
	elements := members * chunkElements(members)
	for i := range s {
		s[i] = tensor.ViewOf[float32](at[4*i*elements:], elements)
	}
	return s
}

// chunk is the first n elements of slice i's chunk, in the slot that is filled
// in this turn.
func (s *slots) chunk(turn uint32, i, members, n int) []float32 {
	return s[turn%2][i*chunkElements(members):][:n]
}

// sumChunks is sumSlices for the case that some member's gradient lies in
// ordinary memory of its process. sumChunks works in turns. First, a member
// copies a chunk of every slice except its own into a slot and waits until all
// members have done so. Second, the member adds up its own slice's chunks, from
// its gradient and the others' slots, and writes the sums back to the same
// places. Third, the member copies the sums that the others made in the
// previous turn out of its other slot.
//
// There is one more turn than chunks. A member copies (T-1)/T*S bytes into
// slots, reads and writes S as in place, and copies (T-1)/T*S out of slots.
//
// MPI implementations use the same pipeline of copies in and out of shared
// memory, with one difference: sumChunks writes sums into the cache lines that
// it just read, not into a separate slot for all readers. A line then stays
// with the two cores that use it, and each core reads the other's change before
// it writes its own. With 2 members this took half the time.
//
// Before the call, this member must have shown the first chunk and all members
// must have posted.
func (g *group) sumChunks(s *step) error {
	values := s.op.Gradient.Values
	chunks := g.chunks(len(values))
	for c := 0; ; c++ {
		if err := g.await(s, allFilled); err != nil {
			return err
		}
		if c < chunks {
			from, to := g.piece(len(values), g.position, c)
			for i, m := range g.members {
				if m == g.own {
					g.parts[i] = values[from:to]
				} else {
					g.parts[i] = m.slots.chunk(g.turn, g.position, len(g.members), to-from)
				}
			}
			g.sumParts(s)
		}
		if c > 0 {
			g.takeOut(values, c-1)
		}
		g.turn++
		if c == chunks {
			break
		}
		g.showChunk(values, c+1)
	}
	g.end(s)
	return nil
}

// showFirst is showChunk for chunk 0. The slots' pages are allocated at their
// first use, so it first checks that there is enough memory.
func (g *group) showFirst(s *step) error {
	if !g.slotted {
		if err := shm.Reserve("the slots of "+g.Self, int64(slotBytes(len(g.members)))); err != nil {
			return err
		}
		g.slotted = true
	}
	g.showChunk(s.op.Gradient.Values, 0)
	return nil
}

// showChunk copies chunk c of all other members' slices into this turn's slot,
// if that chunk exists, and announces it. The slot is free: all members have
// reached the previous turn, so they have finished the turn before that. A
// member may show the first chunk of an operation before another member has
// posted the operation.
func (g *group) showChunk(values []float32, c int) {
	g.eachOther(values, c, g.turn, func(piece, chunk []float32) { vec.Copy(chunk, piece) })
	g.own.filled.Store(g.turn + 1)
	g.ring()
}

// takeOut copies the sums of chunk c, for all other members' slices, out of the
// last turn's slot.
func (g *group) takeOut(values []float32, c int) {
	g.eachOther(values, c, g.turn-1, func(piece, chunk []float32) { copy(piece, chunk) })
}

// eachOther calls do with each piece of values that another member sums in
// chunk c, and with the piece's place in this member's slot of that turn.
// eachOther begins with the next member.
func (g *group) eachOther(values []float32, c int, turn uint32, do func(piece, chunk []float32)) {
	size := len(g.members)
	for k := 1; k < size; k++ {
		i := (g.position + k) % size
		from, to := g.piece(len(values), i, c)
		do(values[from:to], g.own.slots.chunk(turn, i, size, to-from))
	}
}

// chunks is the number of chunks per slice for a dense bucket of n elements.
func (g *group) chunks(n int) int {
	each := chunkElements(len(g.members))
	return (sliceElements(n, len(g.members)) + each - 1) / each
}

// piece is the range of chunk c of the slice that member i sums, for n
// elements. The last slices may be shorter.
func (g *group) piece(n, i, c int) (from, to int) {
	from, to = slice(n, len(g.members), i)
	each := chunkElements(len(g.members))
	from = min(from+c*each, to)
	return from, min(from+each, to)
}

// goesThroughSlots reports whether a gradient outside the store stays in its
// process during s and goes through slots.
func (s *step) goesThroughSlots() bool {
	return !s.group.isAcross() && !s.op.Spec.Sparse && (s.kind == stepAllReduce || s.kind == stepAverage)
}
