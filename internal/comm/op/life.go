// Package op tracks the pending operations of links and ports, over any
// transport. Package op handles deadlines, the error that ends a link, the
// death of a peer, and waits for peers.
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

// Operation is an operation that a link repeats in every batch: the reduction
// of a bucket, a barrier, or a call to a table. Operation can be pending only
// once at a time.
type Operation struct {
	*comm.Promise
	name Namer
	lent Lent // nil if nothing is lent

	// Start sets these fields; they are valid until the operation ends.
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
	// Return gives the memory back when the operation ends. The caller holds
	// the link's lock.
	Return()
}

// NewOperation returns an operation. drive carries the operation out on a
// waiter's goroutine. drive and lent may be nil.
func NewOperation(name Namer, drive func(), lent Lent) Operation {
	return Operation{Promise: comm.NewPromise(drive), name: name, lent: lent}
}

func (o *Operation) String() string { return o.name.Name(o.Batch) }

// Waker wakes waiters, like shm.Bell.
type Waker interface{ Shake() }

// State records whether a link or a port has ended.
type State struct {
	// Waiters, if not nil, wakes the goroutines that wait for the link or in
	// Serve when the link or port ends.
	Waiters Waker

	ended atomic.Bool
}

// Ended reports whether the link or port has ended.
func (s *State) Ended() bool { return s.ended.Load() }

func (s *State) end() {
	s.ended.Store(true)
	if s.Waiters != nil {
		s.Waiters.Shake()
	}
}

// Life is the common state of links: the pending operations with their
// deadlines, and the error that ended the link. A link that has ended cannot be
// used again: its connection may have stopped in the middle of a frame, and a
// slow peer may still write into its memory.
type Life struct {
	Self    string        // the rank at this end
	Link    string        // the link's name in errors: "the link to server2"
	Timeout time.Duration // maximum time from an operation's start to its end
	// Awaits is the first part of a wait's name in errors: "the answer to ".
	// Idle is the name of the wait while nothing is pending.
	Awaits, Idle string

	Mu         sync.Mutex // guards the state of pending operations
	operations []*Operation
	err        error
	State      // last, so that polling waiters do not contend with users of Mu
}

// Add registers an operation while the link is set up.
func (l *Life) Add(o *Operation) { l.operations = append(l.operations, o) }

// Err returns the error that ended the link, or nil. The caller holds Mu.
func (l *Life) Err() error { return l.err }

// Start makes o pending. Start returns false if o already is. The caller holds
// Mu and has checked Err.
func (l *Life) Start(o *Operation, batch int64) bool {
	if !o.Begin() {
		return false
	}
	o.pending, o.Batch, o.Deadline = true, batch, time.Now().Add(l.Timeout)
	return true
}

// Pending reports whether o is pending. The caller holds Mu.
func (o *Operation) Pending() bool { return o.pending }

// Due reports whether o is pending, and its deadline.
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

// End ends o if it is pending, with endNS as its end time in ns of Now. The
// caller holds Mu.
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
	Mean     bool             // for an all-reduce: divide the sums by the number of members
	Gradient *tensor.Gradient // set while the operation is pending
}

// Describe names a bucket's operation in a batch, for errors.
func Describe(batch int64, bucket int) string { return bucketName(bucket).Name(batch) }

// bucketName is a bucket's index, which names the bucket's reductions.
type bucketName int

func (b bucketName) Name(batch int64) string {
	if b == BarrierIndex {
		return fmt.Sprintf("barrier %d", batch)
	}
	return fmt.Sprintf("batch %d, bucket %d", batch, int(b))
}

// Buckets tracks the operations of a link that carries buckets. Each bucket has
// one operation at a time.
type Buckets struct {
	Life
	reductions []*Reduction // by bucket index
}

// Init gives the link a reduction for each spec. drive(r) returns a function
// that carries out reduction r on a waiter's goroutine; drive may be nil.
func (b *Buckets) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration,
	drive func(*Reduction) func()) {
	b.Self, b.Link, b.Timeout = self, link, timeout
	b.reductions = ByIndex(specs, func(spec tensor.BucketSpec) *Reduction { return b.reduction(spec, drive) })
}

// InitPushes is Init for a trainer's link to the server at the other end of
// conn.
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

// Of returns the reduction of a bucket, or nil if there is none. A peer may
// have sent the index.
func (b *Buckets) Of(index int) *Reduction { return At(b.reductions, index) }

// Begin makes the reduction of a bucket pending. Begin returns an error, and
// changes nothing, if the link has ended, does not carry the bucket, or has the
// bucket in flight.
func (b *Buckets) Begin(batch int64, bucket *tensor.Bucket) (*Reduction, error) {
	return b.begin(batch, bucket.Index, &bucket.Gradient, time.Now().Add(b.Timeout))
}

// BeginFor is Begin on behalf of another link's pending reduction o. BeginFor
// uses o's bucket, batch and deadline, but the gradient g.
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

// At returns the element at an index, or nil if the index is out of range. A
// peer may have sent the index.
func At[T any](all []*T, index int) *T {
	if index < 0 || index >= len(all) {
		return nil
	}
	return all[index]
}
