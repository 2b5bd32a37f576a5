package comm

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// byeGrace bounds the orderly end of a link whose peer no longer reads.
const byeGrace = time.Second

// operation is one bucket's place on a link, used again for every batch.
type operation struct {
	spec   tensor.BucketSpec
	future *Future

	// Set by begin, valid until complete.
	pending  bool
	mean     bool // of an all-reduce: divide the sums by the members
	batch    int64
	gradient *tensor.Gradient
	deadline time.Time
}

func (op *operation) String() string { return describe(op.batch, op.spec.Index) }

// barrierIndex takes the place of a bucket index in a barrier, whose number is
// the batch.
const barrierIndex = -1

func describe(batch int64, bucket int) string {
	if bucket == barrierIndex {
		return fmt.Sprintf("barrier %d", batch)
	}
	return fmt.Sprintf("batch %d, bucket %d", batch, bucket)
}

// operations is what links share: one operation per bucket and the error that poisoned the link. A poisoned link stays so: its connection
// may have stopped in the middle of a frame.
type operations struct {
	self    string
	link    string // what the link is, for errors
	timeout time.Duration

	mu    sync.Mutex
	slots []*operation // by bucket index, nil for one of another link; then a group's barrier
	err   error
}

func newOperations(self, link string, specs []tensor.BucketSpec, timeout time.Duration) operations {
	return operations{self: self, link: link, timeout: timeout, slots: byIndex(specs, func(spec tensor.BucketSpec) *operation {
		return &operation{spec: spec, future: NewFuture()}
	})}
}

// byIndex makes one T per spec and places it at the spec's index.
func byIndex[T any](specs []tensor.BucketSpec, build func(tensor.BucketSpec) *T) []*T {
	size := 0
	for _, spec := range specs {
		size = max(size, spec.Index+1)
	}
	slots := make([]*T, size)
	for _, spec := range specs {
		if spec.Index >= 0 {
			slots[spec.Index] = build(spec)
		}
	}
	return slots
}

// at is the slot of a bucket index that came from outside, or nil.
func at[T any](slots []*T, index int) *T {
	if index < 0 || index >= len(slots) {
		return nil
	}
	return slots[index]
}

// begin makes the operation on b pending. It is an error, and changes nothing,
// if the link is poisoned, does not carry b or has b in flight.
func (o *operations) begin(batch int64, b *tensor.Bucket) (*operation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return nil, o.err
	}
	op := at(o.slots, b.Index)
	if op == nil || op.spec.Index != b.Index {
		return nil, fmt.Errorf("%s of %s does not carry bucket %d of batch %d", o.link, o.self, b.Index, batch)
	}
	if err := op.spec.Check(&b.Gradient); err != nil {
		return nil, fmt.Errorf("%s, batch %d: %w", o.self, batch, err)
	}
	if !op.start(batch, &b.Gradient, o.timeout) {
		return nil, fmt.Errorf("%s started batch %d, bucket %d on %s while batch %d of that bucket is in flight", o.self, batch, b.Index, o.link, op.batch)
	}
	return op, nil
}

// start makes op pending, unless it is; the caller holds the link's mu.
func (op *operation) start(batch int64, g *tensor.Gradient, timeout time.Duration) bool {
	if !op.future.Begin() {
		return false
	}
	op.pending, op.batch, op.gradient = true, batch, g
	op.deadline = time.Now().Add(timeout)
	return true
}

// complete ends op without error.
func (o *operations) complete(op *operation) {
	o.mu.Lock()
	op.pending, op.gradient = false, nil
	o.mu.Unlock()
	op.future.Complete(nil)
}

// fail poisons the link with err. It is false if the link was poisoned before,
// in which case err is a consequence and forgotten.
func (o *operations) fail(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false
	}
	o.err = err
	return true
}

// failIdle is fail for the orderly end of a link: it is true if the link was
// neither poisoned nor busy, so that nothing uses its memory any more.
func (o *operations) failIdle(err error) (orderly bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	orderly = o.err == nil && o.earliest() == nil
	if o.err == nil {
		o.err = err
	}
	return orderly
}

// finish ends all pending operations of a poisoned link. It runs once no
// goroutine of the link touches a gradient any more.
func (o *operations) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range o.slots {
		if op != nil && op.pending {
			op.pending, op.gradient = false, nil
			op.future.Complete(o.err)
		}
	}
}

// earliest is the pending operation whose deadline comes first, or nil; the
// caller holds mu.
func (o *operations) earliest() *operation {
	var first *operation
	for _, op := range o.slots {
		if op != nil && op.pending && (first == nil || op.deadline.Before(first.deadline)) {
			first = op
		}
	}
	return first
}

// busy says whether an operation is pending.
func (o *operations) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.earliest() != nil
}

func (o *operations) closedError() error {
	return fmt.Errorf("%s has closed %s: %w", o.self, o.link, net.ErrClosed)
}
