package stream

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// ReduceScatter implements Group. Its errors are those of AllReduce, whose first half it
// is: T-1 steps, in which a member sends (T-1)/T of the bucket.
func (r *ring) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	return r.startDense(wire.OpReduceScatter, "a reduce-scatter", batch, b)
}

// AllGather implements Group. Its errors are those of AllReduce, whose second half it is:
// T-1 steps, in which a member sends (T-1)/T of the bucket.
func (r *ring) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	return r.startDense(wire.OpAllGather, "an all-gather", batch, b)
}

// AllToAll implements Group. Its errors are those of AllReduce. Blocks travel round the
// ring: T-1 steps, in which a member sends (T-1)/2 times the bucket, since a block passes
// T/2 members on average. The first one of a group allocates room for two buckets.
func (r *ring) AllToAll(batch int64, b *tensor.Bucket) *comm.Future {
	return r.startDense(wire.OpAllToAll, "an all-to-all", batch, b)
}

func (r *ring) startDense(kind wire.Op, what string, batch int64, b *tensor.Bucket) *comm.Future {
	if err := op.RequireDense(r.Self, what, b); err != nil {
		return comm.Completed(err)
	}
	op, err := r.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	op.Mean = false
	return r.enqueue(ringTask{op: op, kind: kind})
}

// lap is how the shards of a dense bucket go round: in step s member p sends that of
// p+first-s and receives the one before. In the first steps, those that add, it adds what
// it receives to its own; in the others it takes it as it is. What a step receives the
// next one sends.
type lap struct {
	first, adds, steps int
	added, taken       wire.Op // of the frames
}

// allReduceLap ends its additions with the whole sum of shard p+1 at member p.
func (r *ring) allReduceLap() lap {
	return lap{adds: r.size - 1, steps: 2 * (r.size - 1), added: wire.OpScatter, taken: wire.OpGather}
}

// reduceScatterLap ends with the whole sum of shard p at member p.
func (r *ring) reduceScatterLap() lap {
	return lap{first: -1, adds: r.size - 1, steps: r.size - 1, added: wire.OpReduceScatter}
}

// allGatherLap begins with shard p at member p.
func (r *ring) allGatherLap() lap { return lap{steps: r.size - 1, taken: wire.OpAllGather} }

// frame starts the frame of block k in a step.
func (l lap) frame(op *op.Reduction, step, k int) wire.Header {
	h := wire.Header{Op: l.taken, Arg: int64(step), Arg2: int64(k)}
	if step < l.adds {
		h.Op = l.added
	}
	return frameOf(h, op)
}

// allToAll runs an all-to-all. Member p sends the blocks for the members after it, that of
// the next one first. In each step it takes the first one of the blocks that arrive and
// sends the rest on in the next step: after step s it has the block of member p-s-1.
func (r *ring) allToAll(op *op.Reduction) error {
	p, t, values := r.position, r.size, op.Gradient.Values
	n := len(values) / t
	rooms := [2][]float32{r.transit(0, (t-1)*n), r.transit(1, (t-1)*n)}
	sends := rooms[0]
	for k := 1; k < t; k++ {
		from, to := tensor.Block(len(values), t, (p+k)%t)
		copy(sends[(k-1)*n:], values[from:to])
	}
	for step := range t - 1 {
		arrives := rooms[(step+1)%2][:len(sends)]
		if err := r.sendReceive(op, step, sends, arrives); err != nil {
			return err
		}
		from, to := tensor.Block(len(values), t, (p-step-1+t)%t)
		copy(values[from:to], arrives)
		// The next step receives where this one sends from.
		if r.drain(); r.failed != nil {
			return nil // outcome says why
		}
		sends = arrives[n:]
	}
	return nil
}

// sendReceive sends to the next member while as much arrives from the previous one.
func (r *ring) sendReceive(op *op.Reduction, step int, sends, arrives []float32) error {
	frame := frameOf(wire.Header{Op: wire.OpAllToAll, Arg: int64(step)}, op)
	for k := range blocks(len(sends)) {
		frame.Arg2 = int64(k)
		r.post(frame, nil, blockOf(sends, k))
	}
	for k := range blocks(len(arrives)) {
		frame.Arg2 = int64(k)
		h, err := r.expect(op, frame)
		if err != nil {
			return err
		}
		if err := r.readValues(op, &h, blockOf(arrives, k)); err != nil {
			return err
		}
	}
	return nil
}

// transit is room for so many elements on their way to other members.
func (r *ring) transit(i, elements int) []float32 {
	if len(r.rooms[i]) < elements {
		r.rooms[i] = make([]float32, elements)
	}
	return r.rooms[i][:elements]
}
