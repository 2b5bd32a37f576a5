package stream

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// ring is a comm.Group whose members form a ring; each sends to the next. T is
// the number of members. Large buckets move in blocks: a member passes a block
// on while the next block arrives.
//
// A dense all-reduce is the ring of Patarasuk and Yuan ("Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009): T-1 steps of
// reduce-scatter, then T-1 steps of all-gather, each moving a T-th of the
// bucket. A member sends 2(T-1)/T of the bucket. Every piece is summed along
// one path and then copied, so all members hold equal bits.
//
// A sparse all-reduce is a ring all-gather. In T-1 steps a member sends the
// rows and values of all members except the next. Then each member sums all of
// them in the order of positions, so again all hold equal bits.
//
// A broadcast is a chain of T-1 hops from the root to the member before it.
// Each member except the last sends the bucket once. With B blocks the last
// member has the bucket after the time of T-2+B blocks.
//
// A reduce-scatter and an all-gather of a dense bucket are the two halves of
// the all-reduce. Each takes T-1 steps, in which a member sends (T-1)/T of the
// bucket. An all-to-all also takes T-1 steps. Its blocks pass T/2 links on
// average, so a member sends (T-1)/2 of the bucket.
//
// A barrier is an all-gather without data. In T-1 steps a member tells the next
// that one more member has arrived. A member sends T-1 frames of HeaderSize.
type ring struct {
	op.Collective
	circle
	cuts []*cut // of dense buckets, by index

	entering sync.Mutex // held while a task is queued
	idle     bool       // no task is queued or in progress
	queue    chan task
	quit     chan struct{}
	stop     func() // closes quit
	done     chan struct{}
}

var _ comm.GroupLink = (*ring)(nil)

// newRing joins the member at the given position. members has the connections
// to its neighbours. All members must agree on specs. An operation must end
// within the timeout after its call.
func newRing(members wire.Links, position int, specs []tensor.BucketSpec) *ring {
	r := &ring{queue: make(chan task, len(specs)+1), quit: make(chan struct{}), done: make(chan struct{})}
	r.init(members, position)
	r.Init(members.Self, "its ring", specs, members.Timeout, nil)
	r.stop = sync.OnceFunc(func() { close(r.quit) })
	if r.size == 1 {
		close(r.done)
		return r
	}
	r.cuts = op.ByIndex(specs, func(spec tensor.BucketSpec) *cut { return newCut(&spec, r.size) })
	r.reserve(specs, r.cuts)
	go r.run()
	return r
}

// Size implements comm.Group.
func (r *ring) Size() int { return r.size }

// Position implements comm.Group.
func (r *ring) Position() int { return r.position }

// AllReduce implements comm.Group. The future's error is a *WaitError at the
// deadline and a *PeerError if a neighbour is gone; either ends the ring.
func (r *ring) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	return r.sum("an all-reduce", batch, b, false)
}

func (r *ring) sum(what string, batch int64, b *tensor.Bucket, mean bool) *comm.Future {
	if err := op.RequireSum(r.Self, what, b, mean); err != nil {
		return comm.Completed(err)
	}
	op, err := r.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	op.Mean = mean
	return r.enqueue(op, wire.OpScatter, 0)
}

// Average implements comm.Group, with the errors of AllReduce. The member that
// completes a piece's sum divides it before sending it on.
func (r *ring) Average(batch int64, b *tensor.Bucket) *comm.Future {
	return r.sum("an average", batch, b, true)
}

// Broadcast implements comm.Group, with the errors of AllReduce. A member is
// done when it has the bucket and has passed it on.
func (r *ring) Broadcast(batch int64, b *tensor.Bucket, root int) *comm.Future {
	if err := r.checkRoot(root); err != nil {
		return comm.Completed(err)
	}
	op, err := r.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	op.Mean = false
	return r.enqueue(op, wire.OpBroadcast, root)
}

// Barrier implements comm.Group, with the errors of AllReduce.
func (r *ring) Barrier() error {
	if err := r.BeginBarrier(); err != nil {
		return err
	}
	return r.enqueue(r.BarrierOp, wire.OpBarrier, 0).Wait()
}

func (r *ring) enqueue(o *op.Reduction, kind wire.Op, root int) *comm.Future {
	if r.size == 1 {
		r.Complete(&o.Operation)
		return o.Future()
	}
	t := task{op: o, kind: kind, root: root, gradient: o.Gradient, stage: alone{o.Gradient}}
	if kind != wire.OpBarrier {
		t.cut = *r.cuts[o.Spec.Index]
	}
	r.enter(&t)
	return o.Future()
}

// enter queues a task. If the ring is idle, the caller's goroutine posts the
// task's first frames itself. Waking the ring's goroutine, which would then
// wake the sender, takes as long as sending some of these frames.
func (r *ring) enter(t *task) {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.idle {
		r.idle = false
		r.begin(t)
	}
	r.queue <- *t // never blocks: each operation is queued at most once
}

// rest records whether the ring is idle. The ring calls rest with true after a
// task, and with false when the ring ends.
func (r *ring) rest(idle bool) {
	r.entering.Lock()
	defer r.entering.Unlock()
	r.idle = idle && len(r.queue) == 0
}

// Close leaves the ring and waits for its goroutines. If operations are
// pending, they fail and the neighbours see a lost link.
func (r *ring) Close() error {
	orderly := r.Retire()
	if r.size == 1 {
		return nil
	}
	if !orderly {
		r.hangUp()
	}
	r.stop()
	<-r.done
	_ = op.Leave(orderly, r.next)
	_ = r.prev.Close()
	return nil
}

// run carries out operations in the order of the calls, until Close or the
// first error.
func (r *ring) run() {
	defer close(r.done)
	defer r.Finish() // last: the sender must not read gradients any more
	var sender sync.WaitGroup
	sender.Go(r.send)
	defer sender.Wait()
	defer close(r.outbox)
	defer r.rest(false) // first: no caller may post to the closed outbox
	r.rest(true)
	for {
		select {
		case <-r.quit:
			return
		case t := <-r.queue:
			if err := r.perform(&t); err != nil {
				r.Fail(err)
				r.hangUp()
				return
			}
			r.rest(true) // first: a waiter may start its next operation at once
			r.Complete(&t.op.Operation)
		}
	}
}
