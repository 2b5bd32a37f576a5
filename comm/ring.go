package comm

import (
	"sync"
	"time"
)

// ringBlock is how many elements are received and then added while they are
// still in the cache: 256 KiB.
const ringBlock = 64 << 10

// Ring is a Group whose members are joined in a circle, each sending to the
// next. T is the number of members.
//
// Dense buckets use the ring all-reduce of Patarasuk and Yuan ("Bandwidth
// optimal all-reduce algorithms for clusters of workstations", 2009): T-1
// steps of reduce-scatter, then T-1 of all-gather, each moving a T-th of the
// bucket. A member sends 2(T-1) frames and 2(T-1)/T of the bucket. Every chunk
// is summed along one path and then copied, so all members hold equal bits.
//
// Sparse buckets use a ring all-gather: T-1 steps, in which a member sends the
// rows and values of all members but the next one; then each sums all of them
// in the order of positions, so that all hold equal bits again.
type Ring struct {
	operations
	position, size int
	next, prev     *Conn

	queue chan *operation
	quit  chan struct{}
	stop  func() // closes quit
	done  chan struct{}

	jobs chan ringJob // to the sender
	sent chan error   // from the sender, one per job; capacity 1

	block  []float32  // what a step of reduce-scatter receives
	parts  []Gradient // the sparse gradient of every member
	merger *RowMerger
}

var _ Group = (*Ring)(nil)

// NewRing joins the member named self at the given position of size. next and
// prev link it to its neighbours; the ring owns them from now on. They are nil
// and nothing is sent if size is 1. All members must agree on specs. An
// operation must end within timeout of its call.
func NewRing(self string, position, size int, next, prev *Conn, specs []BucketSpec, timeout time.Duration) *Ring {
	r := &Ring{
		operations: newOperations(self, "its ring", specs, timeout),
		position:   position, size: size, next: next, prev: prev,
		queue: make(chan *operation, len(specs)),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		jobs:  make(chan ringJob),
		sent:  make(chan error, 1),
	}
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
func (r *Ring) reserve(specs []BucketSpec) {
	var block, rows, values int
	for _, spec := range specs {
		if spec.Sparse {
			rows, values = max(rows, spec.Capacity), max(values, spec.Capacity*spec.Width)
		} else {
			block = max(block, min(ringBlock, spec.Elements/r.size+1))
		}
	}
	r.block = make([]float32, block)
	r.merger = NewRowMerger(r.size)
	r.parts = make([]Gradient, r.size)
	for i := range r.parts {
		r.parts[i] = Gradient{Rows: make([]int32, 0, rows), Values: make([]float32, 0, values)}
	}
}

// Size implements Group.
func (r *Ring) Size() int { return r.size }

// Position implements Group.
func (r *Ring) Position() int { return r.position }

// AllReduce implements Group. The future's error is a *WaitError at the
// deadline and a *PeerError if a neighbour is gone; either ends the ring.
func (r *Ring) AllReduce(batch int64, b *Bucket) *Future {
	op, err := r.begin(batch, b)
	if err != nil {
		return Completed(err)
	}
	if r.size == 1 {
		r.complete(op)
	} else {
		r.queue <- op // has room: each bucket is in it once at most
	}
	return op.future
}

// Close leaves the ring and waits for its goroutines. With operations pending,
// which then fail, that is no orderly end and the neighbours see a lost link.
func (r *Ring) Close() error {
	first := r.fail(r.closedError())
	if r.size == 1 {
		return nil
	}
	if r.busy() {
		r.hangUp()
	}
	r.stop()
	<-r.done
	if first {
		_ = r.next.sendBy(time.Now().Add(byeGrace), &Header{Op: opBye})
	}
	r.hangUp()
	return nil
}

func (r *Ring) hangUp() {
	_ = r.next.Close()
	_ = r.prev.Close()
}

// run executes operations in the order of the calls until Close or the first
// error.
func (r *Ring) run() {
	defer close(r.done)
	defer r.finish() // last, when the sender reads no gradient any more
	var sender sync.WaitGroup
	sender.Go(r.send)
	defer sender.Wait()
	defer close(r.jobs)
	for {
		select {
		case <-r.quit:
			return
		case op := <-r.queue:
			if err := r.reduce(op); err != nil {
				r.fail(err)
				r.hangUp()
				return
			}
			r.complete(op)
		}
	}
}

func (r *Ring) reduce(op *operation) error {
	// They fail only on a closed connection, and then the steps fail too.
	_ = r.next.SetWriteDeadline(op.deadline)
	_ = r.prev.SetReadDeadline(op.deadline)
	if op.spec.Sparse {
		return r.reduceSparse(op)
	}
	return r.reduceDense(op)
}
