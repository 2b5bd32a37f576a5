package stream

import (
	"fmt"

	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/comm/wire"
)

// ringBlock is how many elements move as one frame, so that they are added and
// sent on while they are still in the cache: 256 KiB.
const ringBlock = 64 << 10

// blocks is the number of frames that carry this many elements.
func blocks(elements int) int { return max(1, (elements+ringBlock-1)/ringBlock) }

// blockOf is the k-th block of values.
func blockOf(values []float32, k int) []float32 {
	return values[k*ringBlock : min((k+1)*ringBlock, len(values))]
}

// shard is the i-th of T shards of a dense gradient, i modulo T.
func (r *ring) shard(op *op.Reduction, i int) []float32 {
	values, t := op.Gradient.Values, r.size
	from, to := tensor.Shard(len(values), t, (i%t+t)%t)
	return values[from:to]
}

// runLap runs a lap of a dense bucket in place.
func (r *ring) runLap(op *op.Reduction, l lap) error {
	at := r.position + l.first
	own := r.shard(op, at)
	for k := range blocks(len(own)) {
		r.post(l.frame(op, 0, k), nil, blockOf(own, k))
	}
	for step := range l.steps {
		shard := r.shard(op, at-step-1)
		for k := range blocks(len(shard)) {
			block := blockOf(shard, k)
			if err := r.receiveBlock(op, l, step, k, block); err != nil {
				return err
			}
			if step+1 < l.steps {
				r.post(l.frame(op, step+1, k), nil, block)
			}
		}
	}
	return nil
}

// receiveBlock takes block k of a step, or adds it to what is there.
func (r *ring) receiveBlock(op *op.Reduction, l lap, step, k int, block []float32) error {
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
	if op.Mean && step == l.adds-1 { // the sum is whole
		vec.Scale(1/float32(r.size), block)
	}
	return nil
}

// gatherRows fetches the rows of all members into parts. In step s member p sends on
// the part of member p-s.
func (r *ring) gatherRows(op *op.Reduction) error {
	p, t := r.position, r.size
	for i := range r.parts {
		r.parts[i].Width = op.Spec.Width
	}
	if err := r.parts[p].CopyFrom(op.Gradient); err != nil {
		return err
	}
	for step := range t - 1 {
		own, other := &r.parts[(p-step+t)%t], &r.parts[(p-step-1+t)%t]
		frame := frameOf(wire.Header{Op: wire.OpRows, Arg: int64(step)}, op)
		r.post(frame, own.Rows, own.Values)
		h, err := r.expect(op, frame)
		if err != nil {
			return err
		}
		if err := readGradient(r.prev, &h, &op.Spec, other); err != nil {
			return err
		}
	}
	return nil
}

// mergeParts replaces the gradient by the sum of all parts.
func (r *ring) mergeParts(op *op.Reduction) error {
	r.merger.Reset()
	for i := range r.parts {
		r.merger.Add(&r.parts[i])
	}
	if err := r.merger.Sum(op.Gradient); err != nil {
		return fmt.Errorf("%s, %s: %w", r.Self, op, err)
	}
	if op.Mean {
		vec.Scale(1/float32(r.size), op.Gradient.Values)
	}
	return nil
}

// broadcast receives a broadcast, unless it starts here, and sends it on, unless it
// ends here: the rows of a sparse bucket, then its values block by block.
func (r *ring) broadcast(op *op.Reduction, root int) error {
	g := op.Gradient
	receives, sends := r.position != root, (r.position+1)%r.size != root
	frame := frameOf(wire.Header{Op: wire.OpBroadcast, Arg2: int64(root)}, op)
	if op.Spec.Sparse {
		if receives {
			if err := r.receiveRows(op, frame); err != nil {
				return err
			}
		}
		if sends {
			r.post(frame, g.Rows, nil)
		}
		frame.Arg++
	}
	for k := range blocks(len(g.Values)) {
		block := blockOf(g.Values, k)
		if receives {
			h, err := r.expect(op, frame)
			if err != nil {
				return err
			}
			if err := r.readValues(op, &h, block); err != nil {
				return err
			}
		}
		if sends {
			r.post(frame, nil, block)
		}
		frame.Arg++
	}
	return nil
}

// receiveRows makes room for the rows of a broadcast and reads them.
func (r *ring) receiveRows(op *op.Reduction, frame wire.Header) error {
	h, err := r.expect(op, frame)
	if err != nil {
		return err
	}
	from, g := r.prev.Peer(), op.Gradient
	if err := g.SetRows(int(h.Rows)); err != nil {
		return fmt.Errorf("%s sent %s to %s: %w", from, op, r.Self, err)
	}
	if err := r.expectBytes(op, &h, len(g.Rows)); err != nil {
		return err
	}
	if err := r.prev.Fill(tensor.Int32Bytes(g.Rows)); err != nil {
		return err
	}
	if err := op.Spec.CheckRows(g.Rows); err != nil {
		return fmt.Errorf("%s sent to %s: %w", from, r.Self, err)
	}
	return nil
}

// barrier runs a barrier. After step s a member knows that the s+1 members before it
// have come.
func (r *ring) barrier(op *op.Reduction) error {
	for step := range r.size - 1 {
		frame := frameOf(wire.Header{Op: wire.OpBarrier, Arg: int64(step)}, op)
		r.post(frame, nil, nil)
		h, err := r.expect(op, frame)
		if err != nil {
			return err
		}
		if err := r.expectBytes(op, &h, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *ring) checkRoot(root int) error {
	if root < 0 || root >= r.size {
		return fmt.Errorf("%s cannot broadcast from position %d: its ring has positions 0 to %d", r.Self, root, r.size-1)
	}
	return nil
}
