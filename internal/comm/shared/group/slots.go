package group

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
)

// slotElements is about what a slot holds, 256 KiB: two slots and the pieces of gradients
// that are copied into them and out stay in the second-level cache, and there are few waits.
const slotElements = 64 << 10

// slots are memory of a member through which its gradient goes to all others and comes back as
// the sum, when it lies where they cannot reach it. A slot has a chunk for each member's slice
// of the gradient, in the order of positions: who sums the slice works there. There are two in
// turn, so that one is emptied and filled while others have not left the other yet.
type slots [2][]float32

// chunkElements is the length of a chunk in a group of so many members.
func chunkElements(members int) int {
	return layout.RoundUp((slotElements+members-1)/members, comm.BlockElements)
}

// slotBytes is the size of a member's slots in bytes.
func slotBytes(members int) int { return len(slots{}) * 4 * members * chunkElements(members) }

// viewSlots lays slots over slotBytes(members) bytes.
func viewSlots(at []byte, members int) (s slots) {
	elements := members * chunkElements(members)
	for i := range s {
		s[i] = tensor.ViewOf[float32](at[4*i*elements:], elements)
	}
	return s
}

// chunk is n elements of a slot for a piece of slice i; turn is that in which it is filled.
func (s *slots) chunk(turn uint32, i, members, n int) []float32 {
	return s[turn%2][i*chunkElements(members):][:n]
}

// sumChunks is sumSlices where the gradient of some member lies in ordinary memory of its
// process. In each turn a member copies a chunk of every slice but its own into a slot and
// waits until all have. Then it sums the chunks of its own slice, its gradient's and those in
// the others' slots, into all of these, and copies the sums that the others made in the turn
// before out of its other slot. One turn more than there are chunks ends it. A member copies
// (T-1)/T*S bytes into slots, reads and writes S as in place, and copies (T-1)/T*S out of slots.
//
// It is the pipeline of copies in and out of shared memory of MPI implementations, with one
// difference: it writes sums into the lines that it just read, not into a separate slot for all
// readers. A line then stays with the two cores that use it, and each reads the other's change
// before its own. With 2 members that took half the time.
//
// The caller has shown the first chunk, and all have posted.
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

// showFirst is showChunk of the first. The slots' pages come into being at their first use, for
// which there may be no room.
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

// showChunk fills the slot of this turn with chunk c of all others' slices, if there is one, and
// says so. The slot is free: all members have come to the previous turn, so they are done with
// the one before it. A member may show the first chunk of an operation before another has posted it.
func (g *group) showChunk(values []float32, c int) {
	g.eachOther(values, c, g.turn, func(piece, chunk []float32) { vec.Copy(chunk, piece) })
	g.own.filled.Store(g.turn + 1)
	g.ring()
}

// takeOut makes chunk c of all others' slices the sums that are in the slot of the last turn.
func (g *group) takeOut(values []float32, c int) {
	g.eachOther(values, c, g.turn-1, func(piece, chunk []float32) { copy(piece, chunk) })
}

// eachOther calls do with each piece of values that another member sums in chunk c, and with
// its place in this member's slot of that turn. It begins with the member after this one.
func (g *group) eachOther(values []float32, c int, turn uint32, do func(piece, chunk []float32)) {
	size := len(g.members)
	for k := 1; k < size; k++ {
		i := (g.position + k) % size
		from, to := g.piece(len(values), i, c)
		do(values[from:to], g.own.slots.chunk(turn, i, size, to-from))
	}
}

// chunks is how many turns of chunks a dense bucket of n elements takes.
func (g *group) chunks(n int) int {
	each := chunkElements(len(g.members))
	return (sliceElements(n, len(g.members)) + each - 1) / each
}

// piece is chunk c of the slice that member i sums of n elements; the last slices may be
// shorter.
func (g *group) piece(n, i, c int) (from, to int) {
	from, to = slice(n, len(g.members), i)
	each := chunkElements(len(g.members))
	from = min(from+c*each, to)
	return from, min(from+each, to)
}

// goesThroughSlots says that this member's gradient stays in its process during s, where no other
// member touches it.
func (s *step) goesThroughSlots() bool {
	return !s.group.isAcross() && !s.op.Spec.Sparse && (s.kind == stepAllReduce || s.kind == stepAverage)
}
