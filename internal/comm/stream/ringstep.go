package stream

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// gatherRows receives the rows of all members into parts. In step s member p
// sends the part of member p-s.
func (r *circle) gatherRows(t *task) error {
	p, size, op := r.position, r.size, t.op
	for i := range r.parts {
		r.parts[i].Width = op.Spec.Width
	}
	if err := r.parts[p].CopyFrom(t.gradient); err != nil {
		return err
	}
	for step := range size - 1 {
		own, other := &r.parts[(p-step+size)%size], &r.parts[(p-step-1+size)%size]
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
func (r *circle) mergeParts(t *task) error {
	r.merger.Reset()
	for i := range r.parts {
		r.merger.Add(&r.parts[i])
	}
	if err := r.merger.Sum(t.gradient); err != nil {
		return fmt.Errorf("%s, %s: %w", r.self, t.op, err)
	}
	if t.op.Mean {
		vec.Scale(1/float32(r.total), t.gradient.Values)
	}
	return nil
}

// broadcast receives a bucket, except on the root, and sends it on, except on
// the last member. A sparse bucket's rows come first; the values follow block
// by block.
func (r *circle) broadcast(t *task) error {
	g, op, root := t.gradient, t.op, t.root
	receives, sends := r.position != root, (r.position+1)%r.size != root
	frame := frameOf(wire.Header{Op: wire.OpBroadcast, Arg2: int64(root)}, op)
	if op.Spec.Sparse {
		if receives {
			if err := r.receiveRows(t, frame); err != nil {
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

// receiveRows makes room for a broadcast's rows and reads them.
func (r *circle) receiveRows(t *task, frame wire.Header) error {
	op := t.op
	h, err := r.expect(op, frame)
	if err != nil {
		return err
	}
	from, g := r.prev.Peer(), t.gradient
	if err := g.SetRows(int(h.Rows)); err != nil {
		return fmt.Errorf("%s sent %s to %s: %w", from, op, r.self, err)
	}
	if err := r.expectBytes(op, &h, len(g.Rows)); err != nil {
		return err
	}
	if err := r.prev.Fill(tensor.Int32Bytes(g.Rows)); err != nil {
		return err
	}
	if err := op.Spec.CheckRows(g.Rows); err != nil {
		return fmt.Errorf("%s sent to %s: %w", from, r.self, err)
	}
	return nil
}

// barrier runs a barrier. After step s a member knows that the s+1 members
// before it have arrived.
func (r *circle) barrier(op *op.Reduction) error {
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
		return fmt.Errorf("%s cannot broadcast from position %d: its ring has positions 0 to %d", r.Self, root,
			r.size-1)
	}
	return nil
}
