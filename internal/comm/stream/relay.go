package stream

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Relay joins the group of a host to the groups of other hosts by a rail, a ring of one member of each
// host: see hosts.Layout. The driver of the group's operations calls it, one operation at a time; the
// stages do the work in the memory of the host.
//
// With H hosts, R rails and buckets of S bytes the member of a rail sends 2(H-1)/H*S/R for an
// all-reduce, in 2(H-1) steps, and half of that, in half of the steps, for a reduce-scatter or
// an all-gather, if shards are spread evenly. Sparse buckets, broadcasts, barriers and all-to-alls
// go over the first rail alone, at the costs of a ring of H members: each host receives and sends the
// volume of all its members.
type Relay struct {
	circle
	layout       hosts.Layout
	sums, shards []*cut // of dense buckets, by index
	done         chan struct{}
}

// railUnit is the granularity of a rail's part of a bucket, in elements: a page.
const railUnit = 1 << 10

// NewRelay joins the rail of layout's member. members has the connections to its neighbours, by host.
func NewRelay(members wire.Links, layout hosts.Layout, specs []tensor.BucketSpec) *Relay {
	r := &Relay{layout: layout, done: make(chan struct{})}
	r.init(members, layout.Host)
	r.members, r.total = layout.Members, layout.Size
	r.sums = op.ByIndex(specs, func(spec tensor.BucketSpec) *cut { return r.cutSums(&spec) })
	r.shards = op.ByIndex(specs, func(spec tensor.BucketSpec) *cut { return r.cutShards(&spec) })
	r.reserve(specs, r.sums, r.shards)
	go func() {
		defer close(r.done)
		r.send()
	}()
	return r
}

// cutSums cuts the rail's part of a bucket into a shard for each host.
func (r *Relay) cutSums(spec *tensor.BucketSpec) *cut {
	elements, unit := spec.Words(), spec.WordOf(1)
	each := (elements + r.layout.Rails - 1) / r.layout.Rails
	each = (each + railUnit - 1) / railUnit * railUnit
	first, end := min(r.layout.Place*each, elements), min((r.layout.Place+1)*each, elements)
	c := make(cut, r.size)
	for host := range c {
		from, to := tensor.Shard((end-first)/unit, r.size, host)
		c.give(host, op.Span{From: first + unit*from, To: first + unit*to})
	}
	return &c
}

// cutShards gives each host the shards of its members, every Rails-th to a rail.
func (r *Relay) cutShards(spec *tensor.BucketSpec) *cut {
	c := make(cut, r.size)
	for host, there := range r.layout.Members {
		for place := r.layout.Place; place < len(there); place += r.layout.Rails {
			from, to := spec.ShardWords(r.total, there[place])
			c.give(host, op.Span{From: from, To: to, Owner: there[place]})
		}
	}
	return &c
}

// First says that this is the first rail.
func (r *Relay) First() bool { return r.layout.Place == 0 }

// Sum makes the rail's part of a dense gradient the sum, or the mean, over all hosts.
func (r *Relay) Sum(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpScatter, gradient: g, cut: *r.sums[o.Spec.Index], stage: stage})
}

// SumRows makes a sparse gradient the sum, or the mean, over all hosts.
func (r *Relay) SumRows(o *op.Reduction, g *tensor.Gradient) error {
	return r.perform(&task{op: o, kind: wire.OpScatter, gradient: g})
}

// ReduceScatter sums the rail's shards of this host's members over all hosts.
func (r *Relay) ReduceScatter(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpReduceScatter, gradient: g, cut: *r.shards[o.Spec.Index], stage: stage})
}

// AllGather fetches the rail's shards of other hosts' members, and gives them this host's.
func (r *Relay) AllGather(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpAllGather, gradient: g, cut: *r.shards[o.Spec.Index], stage: stage})
}

// AllToAll exchanges the blocks of this host's members with the other hosts. The stage's values are the members'
// gradients.
func (r *Relay) AllToAll(o *op.Reduction, g *tensor.Gradient, stage op.Stage) error {
	return r.perform(&task{op: o, kind: wire.OpAllToAll, gradient: g, stage: stage})
}

// Broadcast replaces a gradient by the given host's.
func (r *Relay) Broadcast(o *op.Reduction, g *tensor.Gradient, host int) error {
	return r.perform(&task{op: o, kind: wire.OpBroadcast, root: host, gradient: g})
}

// Barrier waits until all hosts have come.
func (r *Relay) Barrier(o *op.Reduction) error {
	return r.perform(&task{op: o, kind: wire.OpBarrier})
}

// HangUp breaks the rail, so that whatever waits for it fails.
func (r *Relay) HangUp() { r.hangUp() }

// Close leaves the rail; nothing may run on it any more.
func (r *Relay) Close(orderly bool) {
	close(r.outbox)
	<-r.done
	_ = op.Leave(orderly, r.next)
	_ = r.prev.Close()
}
