package op

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// Reduction is the operation of a bucket: a push, an all-reduce, a broadcast.
type Reduction struct {
	Operation
	Spec     tensor.BucketSpec
	Mean     bool             // of an all-reduce: divide the sums by the members
	Gradient *tensor.Gradient // while it is pending
}

// Describe names what a bucket is used for in a batch.
func Describe(batch int64, bucket int) string {
	if bucket == BarrierIndex {
		return fmt.Sprintf("barrier %d", batch)
	}
	return fmt.Sprintf("batch %d, bucket %d", batch, bucket)
}

// Buckets is the life of a link that carries buckets, each with one operation at a time.
type Buckets struct {
	Life
	reductions []*Reduction // by bucket index
}

// Init gives the link a reduction for each spec, which a waiter carries on by what drive
// makes for it, unless that is nil.
func (b *Buckets) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration, drive func(*Reduction) func()) {
	b.Self, b.Link, b.Timeout = self, link, timeout
	b.reductions = ByIndex(specs, func(spec tensor.BucketSpec) *Reduction {
		r := &Reduction{Spec: spec}
		var by func()
		if drive != nil {
			by = drive(r)
		}
		r.Operation = NewOperation(func(batch int64) string { return Describe(batch, spec.Index) }, by, nil)
		b.Add(&r.Operation)
		return r
	})
}

// Of is the reduction of a bucket index that came from outside, or nil.
func (b *Buckets) Of(index int) *Reduction { return At(b.reductions, index) }

// Begin makes the reduction of a bucket pending. It is an error, and changes nothing, if
// the link has ended, does not carry the bucket or has it in flight.
func (b *Buckets) Begin(batch int64, bucket *tensor.Bucket) (*Reduction, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	r := b.Of(bucket.Index)
	if r == nil {
		return nil, fmt.Errorf("%s of %s does not carry bucket %d of batch %d", b.Link, b.Self, bucket.Index, batch)
	}
	if err := r.Spec.Check(&bucket.Gradient); err != nil {
		return nil, fmt.Errorf("%s, batch %d: %w", b.Self, batch, err)
	}
	if !b.Start(&r.Operation, batch) {
		return nil, fmt.Errorf("%s started batch %d, bucket %d on %s while batch %d of that bucket is in flight", b.Self, batch, bucket.Index, b.Link, r.Batch)
	}
	r.Gradient = &bucket.Gradient
	return r, nil
}

// BarrierIndex takes the place of a bucket index in a barrier, whose number is
// the batch.
const BarrierIndex = -1

// Collective is the life of a group: its buckets and its barrier.
type Collective struct {
	Buckets
	Meeting  *Reduction // the barrier, of no bucket
	barriers int64      // started so far; guarded by Mu
}

// Init is that of Buckets; drive serves the barrier too.
func (g *Collective) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration, drive func(*Reduction) func()) {
	g.Buckets.Init(self, link, specs, timeout, drive)
	g.Meeting = &Reduction{Spec: tensor.BucketSpec{Index: BarrierIndex}}
	var by func()
	if drive != nil {
		by = drive(g.Meeting)
	}
	g.Meeting.Operation = NewOperation(func(batch int64) string { return Describe(batch, BarrierIndex) }, by, nil)
	g.Add(&g.Meeting.Operation)
}

// BeginBarrier makes the barrier pending, with Begin's errors.
func (g *Collective) BeginBarrier() error {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if g.err != nil {
		return g.err
	}
	if !g.Start(&g.Meeting.Operation, g.barriers) {
		return fmt.Errorf("%s started barrier %d on %s while the last one is in flight", g.Self, g.barriers, g.Link)
	}
	g.barriers++
	return nil
}

// ByIndex makes one T per spec and places it at the spec's index.
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
