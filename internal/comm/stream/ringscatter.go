package stream

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// ReduceScatter implements comm.Group, with the errors of AllReduce.
// ReduceScatter is the first half of AllReduce: T-1 steps, in which a member
// sends (T-1)/T of the bucket.
func (r *ring) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	return r.startDense(wire.OpReduceScatter, "a reduce-scatter", batch, b)
}

// AllGather implements comm.Group, with the errors of AllReduce. AllGather is
// the second half of AllReduce: T-1 steps, in which a member sends (T-1)/T of
// the bucket.
func (r *ring) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	return r.startDense(wire.OpAllGather, "an all-gather", batch, b)
}

// AllToAll implements comm.Group, with the errors of AllReduce. Blocks travel
// round the ring in T-1 steps. A block passes T/2 links on average, so a member
// sends (T-1)/2 times the bucket. A group's first AllToAll allocates memory for
// two buckets.
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
	return r.enqueue(op, kind, 0)
}
