package stream

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// ringBlock is the number of elements in one frame: 256 KiB. Such a block is
// still in the cache when it is added and sent on.
const ringBlock = 64 << 10

// blocks is the number of frames that carry this many elements.
func blocks(elements int) int { return max(1, (elements+ringBlock-1)/ringBlock) }

// blockOf is the k-th block of values.
func blockOf(values []float32, k int) []float32 {
	return values[k*ringBlock : min((k+1)*ringBlock, len(values))]
}

// cut lists each circle member's spans of a dense bucket. Each member has at
// least one span, which may be empty, so neighbours exchange a frame in each
// step.
type cut [][]op.Span

// newCut cuts a bucket of this many elements into one shard per member.
func newCut(elements, members int) *cut {
	c := make(cut, members)
	for i := range c {
		from, to := tensor.Shard(elements, members, i)
		c.give(i, op.Span{From: from, To: to, Owner: i})
	}
	return &c
}

// give splits a span, to, into blocks and adds them to the spans of member i.
func (c cut) give(i int, to op.Span) {
	for k := range blocks(to.To - to.From) {
		from := to.From + k*ringBlock
		c[i] = append(c[i], op.Span{From: from, To: min(from+ringBlock, to.To), Owner: to.Owner})
	}
}

// most is the largest number of spans of a member; longest is the largest
// number of elements in a span.
func (c cut) most() (spans int) {
	for _, all := range c {
		spans = max(spans, len(all))
	}
	return spans
}

func (c cut) longest() (elements int) {
	for _, all := range c {
		for _, s := range all {
			elements = max(elements, s.To-s.From)
		}
	}
	return elements
}

// lap is the round trip of a dense bucket's shards. In step s member p sends
// shard p+first-s and receives the shard before it. In the first adds steps it
// adds the received shard to its own; in later steps it replaces its own. Each
// step sends the shard that the previous step received.
type lap struct {
	first, adds, steps int
	added, taken       wire.Op // operations of the frames
}

// lapOf returns the lap of a task; ok is false if the task is not a lap. After
// the additions, member p has the whole sum of shard p+1 in an all-reduce, and
// of shard p in a reduce-scatter. An all-gather begins with shard p at member
// p.
func (r *circle) lapOf(t *task) (l lap, ok bool) {
	once := r.size - 1
	switch {
	case t.kind == wire.OpReduceScatter:
		return lap{first: -1, adds: once, steps: once, added: wire.OpReduceScatter}, true
	case t.kind == wire.OpAllGather:
		return lap{steps: once, taken: wire.OpAllGather}, true
	case t.kind == wire.OpScatter && !t.op.Spec.Sparse:
		return lap{adds: once, steps: 2 * once, added: wire.OpScatter, taken: wire.OpGather}, true
	default:
		return lap{}, false
	}
}

// frame makes the header of block k in a step.
func (l lap) frame(op *op.Reduction, step, k int) wire.Header {
	h := wire.Header{Op: l.taken, Arg: int64(step), Arg2: int64(k)}
	if step < l.adds {
		h.Op = l.added
	}
	return frameOf(h, op)
}

// beginLap posts the first shard that a member sends.
func (r *circle) beginLap(t *task, l lap) {
	for k, own := range t.cut[(r.position+l.first+r.size)%r.size] {
		t.stage.Prepare(own)
		r.post(l.frame(t.op, 0, k), nil, t.gradient.Values[own.From:own.To])
	}
}

// runLap runs the rest of a lap, in place. The stage works on a block while the
// previous block is sent and the next arrives.
func (r *circle) runLap(t *task, l lap) error {
	at, values := r.position+l.first+r.size, t.gradient.Values
	for step := range l.steps {
		for k, s := range t.cut[(at-step-1+r.size)%r.size] {
			block := values[s.From:s.To]
			if step < l.adds {
				t.stage.Prepare(s)
			}
			if err := r.receiveBlock(t.op, l, step, k, block); err != nil {
				return err
			}
			if step+1 < l.steps {
				r.post(l.frame(t.op, step+1, k), nil, block)
			}
			if step >= l.adds-1 {
				t.stage.Finish(s)
			}
		}
	}
	return nil
}

// receiveBlock receives block k of a step and adds it to the values, or
// replaces them.
func (r *circle) receiveBlock(op *op.Reduction, l lap, step, k int, block []float32) error {
	h, err := r.expect(op, l.frame(op, step, k))
	if err != nil {
		return err
	}
	if step >= l.adds {
		return r.readValues(op, &h, block)
	}
	arrived := r.block[:len(block)]
	if err := r.readValues(op, &h, arrived); err != nil {
		return err
	}
	vec.Add(block, arrived)
	if op.Mean && step == l.adds-1 { // the sum is complete
		vec.Scale(1/float32(r.total), block)
	}
	return nil
}
