package op

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// BarrierIndex is the bucket index of a barrier. The barrier's number takes the
// place of the batch.
const BarrierIndex = -1

// Collective tracks the operations of a group: those of its buckets, and its
// barrier.
type Collective struct {
	Buckets
	BarrierOp *Reduction // has no bucket
	barriers  int64      // number of barriers started; guarded by Mu
}

// Init is Buckets.Init for a group. drive also makes the barrier's function.
func (g *Collective) Init(self, link string, specs []tensor.BucketSpec, timeout time.Duration,
	drive func(*Reduction) func()) {
	g.Buckets.Init(self, link, specs, timeout, drive)
	g.BarrierOp = g.reduction(tensor.BucketSpec{Index: BarrierIndex}, drive)
}

// BeginBarrier makes the barrier pending. BeginBarrier fails like Begin.
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

// RequireDense returns an error for a sparse bucket. Collectives that split a
// gradient by element positions need a dense bucket, because the members'
// sparse gradients hold different rows.
func RequireDense(self, what string, b *tensor.Bucket) error {
	if b.Sparse {
		return fmt.Errorf("%s cannot run %s of bucket %d: it is sparse, and its rows are not scattered", self, what,
			b.Index)
	}
	return nil
}

// RequireFloat32 refuses a push of elements that servers do not combine.
func RequireFloat32(self string, b *tensor.Bucket) error {
	if !b.Type.Is32() {
		return fmt.Errorf("%s cannot push bucket %d to a server: servers combine %s, not %s", self, b.Index,
			tensor.Float32, b.Type)
	}
	return nil
}

// RequireSum refuses a sum, or with mean set an average, of elements that have none.
func RequireSum(self, what string, b *tensor.Bucket, mean bool) error {
	if t := b.Type; !t.Sums() || mean && !t.Averages() {
		return fmt.Errorf("%s cannot run %s of bucket %d: it is not defined for elements of type %s", self, what, b.Index, t)
	}
	return nil
}

// Span is a run of elements of a dense bucket that moves as one frame.
type Span struct {
	From, To int
	Owner    int // the position of the member that owns the shard, in operations with shards
}

// Stage is the work that a ring's member does for the other members of its
// host. A Stage works in those members' memory while the previous and next
// frames are in transit.
type Stage interface {
	// Prepare is called with each span before the ring reads the span's values.
	// Prepare must bring the host's values into the member's own gradient.
	Prepare(Span)
	// Finish is called with each span once its values are final. The ring may
	// still read the values.
	Finish(Span)
	// Values returns the gradient values of a member that this member
	// represents in the ring, such as itself.
	Values(position int) []float32
}
