package op

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// BarrierIndex stands for the bucket of a barrier, whose number is the batch.
const BarrierIndex = -1

// Collective is the life of a group: its buckets and its barrier.
type Collective struct {
	Buckets
	BarrierOp *Reduction // of no bucket
	barriers  int64      // started so far; guarded by Mu
}

// Init is that of Buckets; drive serves the barrier too.
func (g *Collective) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration,
	drive func(*Reduction) func()) {
	g.Buckets.Init(self, link, specs, timeout, drive)
	g.BarrierOp = g.reduction(tensor.BucketSpec{Index: BarrierIndex}, drive)
}

// BeginBarrier makes the barrier pending, with Begin's errors.
func (g *Collective) BeginBarrier() error {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if g.err != nil {
		return g.err
	}
	if !g.Start(&g.BarrierOp.Operation, g.barriers) {
		return fmt.Errorf("%s started barrier %d on %s while the last one is in flight", g.Self, g.barriers, g.Link)
	}
	g.barriers++
	return nil
}

// RequireDense refuses a collective that cuts a gradient by the positions of its elements:
// rows of a sparse one have none that members share.
func RequireDense(self, what string, b *tensor.Bucket) error {
	if b.Sparse {
		return fmt.Errorf("%s cannot run %s of bucket %d: it is sparse, and its rows are not scattered", self, what,
			b.Index)
	}
	return nil
}

// RequireSum refuses a sum, or with mean set an average, of elements that have none.
func RequireSum(self, what string, b *tensor.Bucket, mean bool) error {
	if t := b.Type; !t.Sums() || mean && !t.Averages() {
		return fmt.Errorf("%s cannot run %s of bucket %d: elements of type %s have none", self, what, b.Index, t)
	}
	return nil
}

// Span is a run of elements of a dense bucket that moves as one frame.
type Span struct {
	From, To int
	Owner    int // the position of the member whose shard it is part of, where members have shards
}

// Stage is the work of a ring's member for the other members of its host. It works in their memory
// while the frames before and after are on the wire.
type Stage interface {
	// Prepare is called with each span before its values are first read: in the member's own
	// gradient they must then be what the host has of it.
	Prepare(Span)
	// Finish is called with each span once its values are final; they may still be read.
	Finish(Span)
	// Values returns the gradient's values of a member that this one stands for.
	Values(position int) []float32
}
