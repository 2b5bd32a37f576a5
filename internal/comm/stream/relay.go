package stream

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Relay connects a host's group to the groups of other hosts over one rail. A
// rail is a ring with one member of each host: see hosts.Layout. The driver of
// the group's operations calls the Relay, one operation at a time; the stages
// do the work in the host's memory.
//
// With H hosts, R rails and a bucket of S bytes, a rail's member sends
// 2(H-1)/H*S/R for an all-reduce, in 2(H-1) steps. For a reduce-scatter or an
// all-gather it sends half of that, in half of the steps, if the shards are
// spread evenly. Sparse buckets, broadcasts, barriers and all-to-alls use only
// the first rail. These operations cost as much as in a ring of H members in
// which each host receives and sends the volume of all its members.
type Relay struct {
	circle
	layout       hosts.Layout
	sums, shards []*cut // of dense buckets, by index
	done         chan struct{}
}

// railUnit is the granularity of a rail's part of a bucket: 1024 elements,
// which is a page.
const railUnit = 1 << 10

// NewRelay joins the rail of the layout's member. members has the connections
// to the rail's neighbours, by host.
func NewRelay(members wire.Links, layout hosts.Layout, specs []tensor.BucketSpec) *Relay {
	r := &Relay{layout: layout, done: make(chan struct{})}
	r.init(members, layout.Host)
	r.members, r.total = layout.Members, layout.Size
	r.sums = op.ByIndex(specs, func(spec tensor.BucketSpec) *cut { return r.cutSums(spec.Elements) })
	r.shards = op.ByIndex(specs, func(spec tensor.BucketSpec) *cut { return r.cutShards(spec.Elements) })
	r.reserve(specs, r.sums, r.shards)
	go func() {
		defer close(r.done)
		r.send()
	}()
	return r
}

// cutSums cuts the rail's part of a bucket into one shard per host.
func (r *Relay) cutSums(elements int) *cut {
	each := (elements + r.layout.Rails - 1) / r.layout.Rails
	each = (each + railUnit - 1) / railUnit * railUnit
	first, end := min(r.layout.Place*each, elements), min((r.layout.Place+1)*each, elements)
	c := make(cut, r.size)
	for host := range c {
		from, to := tensor.Shard(end-first, r.size, host)
		c.give(host, op.Span{From: first + from, To: first + to})
	}
	return &c
}

// cutShards gives each host its members' shards. A rail gets every Rails-th
// shard of a host.
func (r *Relay) cutShards(elements int) *cut {
	c := make(cut, r.size)
	for host, there := range r.layout.Members {
		for place := r.layout.Place; place < len(there); place += r.layout.Rails {
			from, to := tensor.Shard(elements, r.total, there[place])
			c.give(host, op.Span{From: from, To: to, Owner: there[place]})
		}
	}
	return &c
}

// First reports whether this is the first rail.
func (r *Relay) First() bool { return r.layout.Place == 0 }

// Sum replaces the rail's part of a dense gradient by the sum or mean over all
// hosts.
func (r *Relay) Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpScatter, gradient: g, cut: *r.sums[o.Spec.Index], stage: stage})
}

// SumRows replaces a sparse gradient by the sum or mean over all hosts.
func (r *Relay) SumRows(o *op.Reduction, g *tensor.Gradient) error {
	return r.perform(&task{op: o, kind: wire.OpScatter, gradient: g})
}

// ReduceScatter sums the rail's share of this host's shards over all hosts.
func (r *Relay) ReduceScatter(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpReduceScatter, gradient: g, cut: *r.shards[o.Spec.Index], stage: stage})
}

// AllGather receives the rail's share of other hosts' shards and sends them the
// share of this host.
func (r *Relay) AllGather(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpAllGather, gradient: g, cut: *r.shards[o.Spec.Index], stage: stage})
}

// AllToAll exchanges the blocks of this host's members with the other hosts. The stage's values are the members'
// gradients.
func (r *Relay) AllToAll(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpAllToAll, gradient: g, stage: stage})
}

// Broadcast replaces a gradient by the gradient of the given host.
func (r *Relay) Broadcast(o *op.Reduction, g *tensor.Gradient, host int) error {
	return r.perform(&task{op: o, kind: wire.OpBroadcast, root: host, gradient: g})
}

// Barrier waits until all hosts have reached it.
func (r *Relay) Barrier(o *op.Reduction) error {
	return r.perform(&task{op: o, kind: wire.OpBarrier})
}

// HangUp breaks the rail, so that all its waits fail.
func (r *Relay) HangUp() { r.hangUp() }

// Close leaves the rail. Nothing may use the rail afterwards.
func (r *Relay) Close(orderly bool) {
	close(r.outbox)
	<-r.done
	_ = op.Leave(orderly, r.next)
	_ = r.prev.Close()
}
