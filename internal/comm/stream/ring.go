package stream

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// ring is a Group whose members are joined in a circle, each sending to the
// next. T is the number of members. Large buckets move in blocks: a block goes on
// to the next member while the one after it arrives.
//
// A dense all-reduce is the ring of Patarasuk and Yuan ("Bandwidth optimal
// all-reduce algorithms for clusters of workstations", 2009): T-1 steps of
// reduce-scatter, then T-1 of all-gather, each moving a T-th of the bucket. A
// member sends 2(T-1)/T of the bucket. Every piece is summed along one path and
// then copied, so all members hold equal bits.
//
// A sparse all-reduce is a ring all-gather: T-1 steps, in which a member sends the
// rows and values of all members but the next one; then each sums all of them
// in the order of positions, so that all hold equal bits again.
//
// A broadcast is a chain from the root to the member before it: T-1 hops. Each
// member but the last sends the bucket once, and with B blocks the last one has
// it after the time of T-2+B blocks.
//
// A reduce-scatter and an all-gather of a dense bucket are the halves of the all-reduce:
// T-1 steps each, in which a member sends (T-1)/T of the bucket. In an all-to-all blocks
// pass T/2 members on average: T-1 steps, in which a member sends (T-1)/2 of the bucket.
//
// A barrier is an all-gather of nothing: T-1 steps, in which a member tells the
// next that it has heard of one more. A member sends T-1 frames of HeaderSize.
type ring struct {
	op.Collective
	circle
	cuts []*cut // of dense buckets, by index

	entering sync.Mutex // held while a task enters the queue
	idle     bool       // no task is in the queue or under way
	queue    chan task
	quit     chan struct{}
	stop     func() // closes quit
	done     chan struct{}
}

var _ comm.GroupLink = (*ring)(nil)

// newRing joins the member at the given position. members has the connections to its
// neighbours. All members must agree on specs. An operation must end within the timeout of
// its call.
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

// Size implements Group.
func (r *ring) Size() int { return r.size }

// Position implements Group.
func (r *ring) Position() int { return r.position }

// AllReduce implements Group. The future's error is a *WaitError at the
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

// Average implements Group. Its errors are those of AllReduce. The member that has
// the whole sum of a piece divides it, before it sends it on.
func (r *ring) Average(batch int64, b *tensor.Bucket) *comm.Future {
	return r.sum("an average", batch, b, true)
}

// Broadcast implements Group. Its errors are those of AllReduce. A member is done
// when it has the bucket and has passed it on.
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

// Barrier implements Group. Its errors are those of AllReduce.
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

// enter queues a task. Where none is before it its first frames leave from here: to wake the ring's
// goroutine, for that to wake the sender, takes as long as to send some of them.
func (r *ring) enter(t *task) {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.idle {
		r.idle = false
		r.begin(t)
	}
	r.queue <- *t // has room: each operation is in it once at most
}

// rest notes whether the ring is idle, now that a task is done, or not any more once it ends.
func (r *ring) rest(idle bool) {
	r.entering.Lock()
	defer r.entering.Unlock()
	r.idle = idle && len(r.queue) == 0
}

// Close leaves the ring and waits for its goroutines. With operations pending,
// which then fail, that is no orderly end and the neighbours see a lost link.
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

// run executes operations in the order of the calls until Close or the first
// error.
func (r *ring) run() {
	defer close(r.done)
	defer r.Finish() // last, when the sender reads no gradient any more
	var sender sync.WaitGroup
	sender.Go(r.send)
	defer sender.Wait()
	defer close(r.outbox)
	defer r.rest(false) // before: nobody posts to what is closed
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
			r.rest(true) // before: who waits may go on at once
			r.Complete(&t.op.Operation)
		}
	}
}
