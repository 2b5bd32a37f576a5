package stream

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
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
	position, size int
	next, prev     *wire.Conn

	queue chan ringTask
	quit  chan struct{}
	stop  func() // closes quit
	done  chan struct{}

	outbox chan ringFrame // to the sender; has room for every frame of a task
	handed bool           // a frame of this task went to the outbox
	failed error          // of a frame of this task that did not
	sent   chan error     // from the sender, one per task; capacity 1

	block  []float32         // what a step of reduce-scatter receives
	rooms  [2][]float32      // of an all-to-all; made for the first one
	parts  []tensor.Gradient // the sparse gradient of every member
	merger *tensor.RowMerger
}

// ringTask is a pending operation: an all-reduce, a broadcast or a barrier.
type ringTask struct {
	op   *op.Reduction
	kind wire.Op // of its first frame
	root int
}

var _ comm.GroupLink = (*ring)(nil)

// newRing joins the member at the given position, whose connections to its neighbours
// are among those of members. All members must agree on specs. An operation must end
// within the timeout of its call.
func newRing(members wire.Links, position int, specs []tensor.BucketSpec) *ring {
	size := len(members.Conns)
	r := &ring{
		position: position, size: size,
		next: members.Conns[(position+1)%size], prev: members.Conns[(position+size-1)%size],
		queue: make(chan ringTask, len(specs)+1),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		sent:  make(chan error, 1),
	}
	r.Init(members.Self, "its ring", specs, members.Timeout, nil)
	r.stop = sync.OnceFunc(func() { close(r.quit) })
	if size == 1 {
		close(r.done)
		return r
	}
	r.reserve(specs)
	go r.run()
	return r
}

// reserve allocates what the largest buckets of either form need.
func (r *ring) reserve(specs []tensor.BucketSpec) {
	var block, rows, values int
	frames := r.size // of a sparse all-reduce
	for i := range specs {
		elements := specs[i].Elements
		if specs[i].Sparse {
			elements = specs[i].Capacity * specs[i].Width
			rows, values = max(rows, specs[i].Capacity), max(values, elements)
		} else {
			block = max(block, min(ringBlock, elements/r.size+1))
			frames = max(frames, 2*(r.size-1)*blocks(elements/r.size+1))
		}
		frames = max(frames, 1+blocks(elements)) // of a broadcast
	}
	r.outbox = make(chan ringFrame, frames+1)
	r.block = make([]float32, block)
	r.merger = tensor.NewRowMerger(r.size)
	r.parts = make([]tensor.Gradient, r.size)
	for i := range r.parts {
		r.parts[i] = tensor.Gradient{Rows: make([]int32, 0, rows), Values: make([]float32, 0, values)}
	}
}

// Size implements Group.
func (r *ring) Size() int { return r.size }

// Position implements Group.
func (r *ring) Position() int { return r.position }

// AllReduce implements Group. The future's error is a *WaitError at the
// deadline and a *PeerError if a neighbour is gone; either ends the ring.
func (r *ring) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	op, err := r.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	op.Mean = false
	return r.enqueue(ringTask{op: op, kind: wire.OpScatter})
}

// Average implements Group. Its errors are those of AllReduce. The member that has
// the whole sum of a piece divides it, before it sends it on.
func (r *ring) Average(batch int64, b *tensor.Bucket) *comm.Future {
	op, err := r.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	op.Mean = true
	return r.enqueue(ringTask{op: op, kind: wire.OpScatter})
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
	return r.enqueue(ringTask{op: op, kind: wire.OpBroadcast, root: root})
}

// Barrier implements Group. Its errors are those of AllReduce.
func (r *ring) Barrier() error {
	if err := r.BeginBarrier(); err != nil {
		return err
	}
	return r.enqueue(ringTask{op: r.BarrierOp, kind: wire.OpBarrier}).Wait()
}

func (r *ring) enqueue(t ringTask) *comm.Future {
	if r.size == 1 {
		r.Complete(&t.op.Operation)
	} else {
		r.queue <- t // has room: each operation is in it once at most
	}
	return t.op.Future()
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

func (r *ring) hangUp() {
	_ = r.next.Close()
	_ = r.prev.Close()
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
	for {
		select {
		case <-r.quit:
			return
		case t := <-r.queue:
			if err := r.perform(t); err != nil {
				r.Fail(err)
				r.hangUp()
				return
			}
			r.Complete(&t.op.Operation)
		}
	}
}

// perform runs one operation.
func (r *ring) perform(t ringTask) error {
	// They fail only on a closed connection, and then the steps fail too.
	_ = r.next.SetWriteDeadline(t.op.Deadline)
	_ = r.prev.SetReadDeadline(t.op.Deadline)
	var err error
	switch {
	case t.kind == wire.OpBarrier:
		err = r.barrier(t.op)
	case t.kind == wire.OpBroadcast:
		err = r.broadcast(t.op, t.root)
	case t.kind == wire.OpReduceScatter:
		err = r.runLap(t.op, r.reduceScatterLap())
	case t.kind == wire.OpAllGather:
		err = r.runLap(t.op, r.allGatherLap())
	case t.kind == wire.OpAllToAll:
		err = r.allToAll(t.op)
	case t.op.Spec.Sparse:
		err = r.gatherRows(t.op)
	default:
		err = r.runLap(t.op, r.allReduceLap())
	}
	if err = r.outcome(t.op, err); err == nil && t.kind == wire.OpScatter && t.op.Spec.Sparse {
		err = r.mergeParts(t.op)
	}
	return err
}
