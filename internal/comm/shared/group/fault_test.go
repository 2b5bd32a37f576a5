package group

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

func TestSharedGroupDisagreement(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 4), commtest.DenseSpec(1, 4)}
	groups := newGroups(t, 2, linktest.Patience, linktest.Same(specs...))
	a := groups[0].AllReduce(0, groups[0].bucket(0, false))
	b := groups[1].AllReduce(0, groups[1].bucket(1, false))
	errs := errors.Join(a.Wait(), b.Wait())
	if errs == nil || !strings.Contains(errs.Error(), "ranks must reduce the same buckets in the same order") {
		t.Errorf("two buckets at once gave %v", errs)
	}
	groups = newGroups(t, 2, linktest.Patience, linktest.Same(specs...))
	a, b = groups[0].AllReduce(0, groups[0].bucket(0, false)), groups[1].Average(0, groups[1].bucket(0, false))
	errs = errors.Join(a.Wait(), b.Wait())
	if errs == nil || !strings.Contains(errs.Error(), "runs an average of batch 0, bucket 0") {
		t.Errorf("a sum and an average at once gave %v", errs)
	}
}

func TestSharedGroupEndsInTime(t *testing.T) {
	for _, elements := range []int{4, 1 << 20} {
		groups := newGroups(t, 3, 400*time.Millisecond, linktest.Same(commtest.DenseSpec(0, elements)))
		f := groups[0].AllReduce(2, groups[0].bucket(0, false))
		time.Sleep(200 * time.Millisecond) // the third member starts later, so it still waits when the first gives up
		go func() { _ = groups[2].AllReduce(2, groups[2].bucket(0, false)).Wait() }()
		var wait *comm.WaitError
		if err := f.Wait(); !errors.As(err, &wait) || len(wait.For) != 1 || wait.For[0] != "trainer1" {
			t.Errorf("a member that does not come gave %v", err)
		}
		if err := groups[0].AllReduce(3, groups[0].bucket(0, false)).Wait(); err == nil {
			t.Error("a failed group takes operations")
		}
	}
}

func TestSharedGroupNoticesADeadMember(t *testing.T) {
	var peer *comm.PeerError
	for size := 2; size <= 3; size++ {
		groups := newGroups(t, size, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 4)))
		f := groups[0].AllReduce(2, groups[0].bucket(0, false))
		groups[1].hangUp()
		// A third member may have noticed the death first and hung up as well.
		if err := f.Wait(); !errors.As(err, &peer) ||
			peer.Peer != "trainer1" && (size == 2 || peer.Peer != "trainer2") {
			t.Errorf("a member of %d that died gave %v", size, err)
		}
	}
	groups := newGroups(t, 2, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 4)))
	commtest.Must(t, groups[1].Close())
	if err := groups[0].Barrier(); !errors.As(err, &peer) || !errors.Is(err, op.ErrLeft) {
		t.Errorf("a member that left gave %v", err)
	}
	groups = newGroups(t, 2, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 4)))
	commtest.Must(t, groups[0].Close())
	if err := groups[0].Barrier(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a barrier of a closed group gave %v", err)
	}
}

// If a sum has more rows than the bucket's capacity, the operation fails, even
// if another bucket has a larger capacity.
func TestSharedGroupSparseOverflow(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.SparseSpec(0, 10, 100, 3), commtest.SparseSpec(1, 100, 1, 100)}
	groups := newGroups(t, 2, linktest.Patience, linktest.Same(specs...))
	var futures []*comm.Future
	var said []error
	for i, g := range groups {
		b := g.bucket(0, false)
		commtest.Must(t, b.Gradient.SetRows(3))
		copy(b.Gradient.Rows, []int32{int32(3 * i), int32(3*i + 1), int32(3*i + 2)})
		futures = append(futures, g.AllReduce(0, b))
	}
	for _, f := range futures {
		err := f.Wait()
		if err == nil {
			t.Error("an overflow gave no error")
		}
		said = append(said, err)
	}
	// The second member may only see that the first has left.
	if err := errors.Join(said...); !strings.Contains(err.Error(), "more rows than its capacity of 3") {
		t.Errorf("an overflow gave %v", err)
	}
}

// A member checks what its peers post before it reads their gradients. The liar
// writes only fields that a member writes when it starts an operation.
func TestSharedGroupRefusesLies(t *testing.T) {
	for want, c := range map[string]struct {
		kind int32
		lie  func(line *layout.StepLine, rows []int32)
	}{
		"a sparse gradient of 5 rows": {stepAllReduce,
			func(line *layout.StepLine, _ []int32) { line.Rows = 5 }},
		"a sparse gradient of -1 rows": {stepBroadcast,
			func(line *layout.StepLine, _ []int32) { line.Rows = -1 }},
		"place 7, which does not exist": {stepAllReduce,
			func(line *layout.StepLine, _ []int32) { line.Place = 7 }},
		"bucket 0 has row 10 at place 0, which is beyond": {stepAllReduce,
			func(_ *layout.StepLine, rows []int32) { rows[0] = 10 }},
		"bucket 0 has row -3 at place 0": {stepBroadcast,
			func(_ *layout.StepLine, rows []int32) { rows[0] = -3 }},
		"runs an all-reduce of batch 9, bucket 0": {stepAllReduce,
			func(line *layout.StepLine, _ []int32) { line.Batch = 9 }},
	} {
		t.Run(want, func(t *testing.T) {
			groups := newGroups(t, 2, linktest.Patience, linktest.Same(commtest.SparseSpec(0, 10, 2, 4)))
			liar, line := groups[0], groups[0].own.line(0)
			line.Kind, line.Rows = c.kind, 1
			c.lie(line, liar.bucket(0, false).Shown)
			line.Posted.Store(1)
			liar.own.begun.Store(1)
			liar.ring()
			b := groups[1].bucket(0, false)
			operation := groups[1].AllReduce
			if c.kind == stepBroadcast {
				operation = func(batch int64, b *tensor.Bucket) *comm.Future { return groups[1].Broadcast(batch, b, 0) }
			}
			err := operation(0, b).Wait()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("%q: the operation ended with %v", want, err)
			}
		})
	}
}
