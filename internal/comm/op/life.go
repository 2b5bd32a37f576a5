// Package op is the life of a link's or port's pending operations, over any transport: the
// deadline, the error that ends the link, the death of a peer, and the waits for peers.
package op

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Operation is one thing that a link does again in every batch: the reduction of a bucket, a
// barrier, a call of a table. It is pending once at a time.
type Operation struct {
	*comm.Promise
	name Namer
	lent Lent // nil where nothing is

	// Set by Start, valid until the end.
	Batch    int64
	Deadline time.Time
	pending  bool
}

// Namer names an operation in errors.
type Namer interface {
	Name(batch int64) string
}

// Lent is memory that its owner lends to an operation.
type Lent interface {
	// Return gives it back at the end of the operation, with the lock of the link held.
	Return()
}

// NewOperation returns an operation that a waiter carries on by drive. drive and lent may be nil.
func NewOperation(name Namer, drive func(), lent Lent) Operation {
	return Operation{Promise: comm.NewPromise(drive), name: name, lent: lent}
}

func (o *Operation) String() string { return o.name.Name(o.Batch) }

// Waker wakes waiters, as a shm.Bell does.
type Waker interface{ Shake() }

// State says whether a link or a port has ended.
type State struct {
	// Waiters, unless it is nil, wakes those who wait for the link, or in Serve, once it has ended.
	Waiters Waker

	ended atomic.Bool
}

// Ended says whether it has.
func (s *State) Ended() bool { return s.ended.Load() }

func (s *State) end() {
	s.ended.Store(true)
	if s.Waiters != nil {
		s.Waiters.Shake()
	}
}

// Life is the common state of links: the pending operations with their deadlines, and the error
// that ended the link. A link that has ended stays so: its connection may have stopped in the
// middle of a frame, and a neighbour that is only slow may still write into its memory.
type Life struct {
	Self    string        // the rank at this end
	Link    string        // what the link is, in errors: "the link to server2"
	Timeout time.Duration // from the start of an operation to its end
	// Awaits begins the name of a wait in errors: "the answer to ". Idle names the wait
	// while nothing is pending.
	Awaits, Idle string

	Mu         sync.Mutex // guards what is pending
	operations []*Operation
	err        error
	State      // last: waiters poll it while others take Mu
}

// Add gives the link an operation, at set-up.
func (l *Life) Add(o *Operation) { l.operations = append(l.operations, o) }

// Err is what ended the link, or nil; the caller holds Mu.
func (l *Life) Err() error { return l.err }

// Start makes o pending, unless it is; the caller holds Mu and has looked at Err.
func (l *Life) Start(o *Operation, batch int64) bool {
	if !o.Begin() {
		return false
	}
	o.pending, o.Batch, o.Deadline = true, batch, time.Now().Add(l.Timeout)
	return true
}

// Pending says whether o is; the caller holds Mu.
func (o *Operation) Pending() bool { return o.pending }

// Due says whether o is pending, and until when.
func (l *Life) Due(o *Operation) (deadline time.Time, pending bool) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return o.Deadline, o.pending
}

// Complete ends o without error.
func (l *Life) Complete(o *Operation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.End(o, nil, comm.Now())
}

// End ends o, if it is pending, as of some time in ns of Now; the caller holds Mu.
func (l *Life) End(o *Operation, err error, endNS int64) {
	if !o.pending {
		return
	}
	o.pending = false
	if o.lent != nil {
		o.lent.Return()
	}
	o.CompleteAt(err, endNS)
}

// Reduction is the operation of a bucket: a push, an all-reduce, a broadcast.
type Reduction struct {
	Operation
	Spec     tensor.BucketSpec
	Mean     bool             // of an all-reduce: divide the sums by the members
	Gradient *tensor.Gradient // while it is pending
}

// Describe names what a bucket is used for in a batch.
func Describe(batch int64, bucket int) string { return bucketName(bucket).Name(batch) }

// bucketName is a bucket's index as the name of its reductions.
type bucketName int

func (b bucketName) Name(batch int64) string {
	if b == BarrierIndex {
		return fmt.Sprintf("barrier %d", batch)
	}
	return fmt.Sprintf("batch %d, bucket %d", batch, int(b))
}

// Buckets is the life of a link that carries buckets, each with one operation at a time.
type Buckets struct {
	Life
	reductions []*Reduction // by bucket index
}

// Init gives the link a reduction for each spec, which a waiter carries on by what drive
// makes for it, unless that is nil.
func (b *Buckets) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration,
	drive func(*Reduction) func()) {
	b.Self, b.Link, b.Timeout = self, link, timeout
	b.reductions = ByIndex(specs, func(spec tensor.BucketSpec) *Reduction { return b.reduction(spec, drive) })
}

// InitPushes is Init of a trainer's link to the server at the other end of conn.
func (b *Buckets) InitPushes(
	conn *wire.Conn, specs []tensor.BucketSpec, timeout time.Duration, drive func(*Reduction) func(),
) {
	b.Init(conn.Self(), "the link to "+conn.Peer(), specs, timeout, drive)
	b.Awaits, b.Idle = "the answer to ", "a pause between pushes"
}

func (b *Buckets) reduction(spec tensor.BucketSpec, drive func(*Reduction) func()) *Reduction {
	r := &Reduction{Spec: spec}
	var by func()
	if drive != nil {
		by = drive(r)
	}
	r.Operation = NewOperation(bucketName(spec.Index), by, nil)
	b.Add(&r.Operation)
	return r
}

// Of is the reduction of a bucket index that came from outside, or nil.
func (b *Buckets) Of(index int) *Reduction { return At(b.reductions, index) }

// Begin makes the reduction of a bucket pending. It is an error, and changes nothing, if
// the link has ended, does not carry the bucket or has it in flight.
func (b *Buckets) Begin(batch int64, bucket *tensor.Bucket) (*Reduction, error) {
	return b.begin(batch, bucket.Index, &bucket.Gradient, time.Now().Add(b.Timeout))
}

// BeginFor is Begin with a gradient that stands for that of another link's reduction, which is pending: with
// the same bucket, batch and deadline.
func (b *Buckets) BeginFor(o *Reduction, g *tensor.Gradient) (*Reduction, error) {
	return b.begin(o.Batch, o.Spec.Index, g, o.Deadline)
}

func (b *Buckets) begin(batch int64, index int, g *tensor.Gradient, deadline time.Time) (*Reduction, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	r := b.Of(index)
	if r == nil {
		return nil, fmt.Errorf("%s of %s does not carry bucket %d of batch %d", b.Link, b.Self, index, batch)
	}
	if err := r.Spec.Check(g); err != nil {
		return nil, fmt.Errorf("%s, batch %d: %w", b.Self, batch, err)
	}
	if !b.Start(&r.Operation, batch) {
		return nil, fmt.Errorf("%s started batch %d, bucket %d on %s while batch %d of that bucket is in flight",
			b.Self, batch, index, b.Link, r.Batch)
	}
	r.Gradient, r.Deadline = g, deadline
	return r, nil
}

// ByIndex makes one T per spec, at the spec's index.
func ByIndex[T any](specs []tensor.BucketSpec, build func(tensor.BucketSpec) *T) []*T {
	size := 0
	for _, spec := range specs {
		size = max(size, spec.Index+1)
	}
	all := make([]*T, size)
	for _, spec := range specs {
		if spec.Index >= 0 {
			all[spec.Index] = build(spec)
		}
	}
	return all
}

// At is what stands at an index that came from outside, or nil.
func At[T any](all []*T, index int) *T {
	if index < 0 || index >= len(all) {
		return nil
	}
	return all[index]
}
