package shared

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
)

// A neighbour may write the rows that it has shown at any time. What this process uses is
// what it has checked.

var flipped = []int32{math.MaxInt32, -1, math.MinInt32}

// flip writes rows that are none of any table.
func flip(shown []int32) {
	for i := range shown {
		atomic.StoreInt32(&shown[i], flipped[i%len(flipped)])
	}
}

// foreign maps a store once more, as another process does.
func foreign(t commtest.TB, s *comm.Store) *tensor.Bucket {
	t.Helper()
	fd, err := unix.Dup(s.Segment.FD())
	commtest.Must(t, err)
	segment, err := shm.Open(fd, len(s.Segment.Bytes()), false, false)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = segment.Close() })
	return layout.ViewStore(segment, s.Specs()).Buckets[0]
}

// rowsOf fills a bucket.
func rowsOf(b *tensor.Bucket, rows ...int32) *tensor.Bucket {
	b.Gradient.Rows = append(b.Gradient.Rows[:0], rows...)
	b.Gradient.Values = b.Gradient.Values[:len(rows)*b.Width]
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = 1
	}
	return b
}

// A trainer flips its rows while the server works on its push, and the server those of
// its answer afterwards.
func TestSharedRowsStayAsTheyWereChecked(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 4)
	for name, copied := range map[string]bool{"in place": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			var shown []int32
			ready := make(chan struct{})
			h := newStar(t, 1, []tensor.BucketSpec{spec}, linktest.Patience, func(a *comm.Arrival) error {
				<-ready
				flip(shown)
				if err := spec.Check(a.Gradient); err != nil {
					t.Errorf("the server has %v", err)
				}
				return a.Answer(a.Gradient)
			})
			pushed := h.stores[0]
			if copied {
				pushed = h.links[0].client.copies
			}
			shown = foreign(t, pushed).Shown
			close(ready)
			b := rowsOf(bucketOf(h.stores[0], 0, copied), 1, 5, 9)
			commtest.Must(t, h.links[0].PushPull(0, b).Wait())
			flip(shown)
			if err := spec.Check(&b.Gradient); err != nil || len(b.Gradient.Rows) != 3 || b.Gradient.Rows[2] != 9 {
				t.Errorf("the trainer has %v with rows %v", err, b.Gradient.Rows)
			}
		})
	}
}

// A member that flips its rows all the time gets an error or a sum of rows of the table,
// and so do the others; afterwards nobody's rows change.
func TestSharedGroupSurvivesFlippingRows(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 10)
	for round := range 20 {
		groups := newGroups(t, 2, linktest.Patience, linktest.Same(spec))
		liar := foreign(t, groups[0].own.stores[layout.InStore]).Shown
		stop, flipping := make(chan struct{}), sync.WaitGroup{}
		flipping.Go(func() {
			for n := int32(0); ; n++ {
				select {
				case <-stop:
					return
				default:
					atomic.StoreInt32(&liar[0], []int32{0, math.MaxInt32}[n%2])
				}
			}
		})
		for batch := range int64(100) {
			futures := []*comm.Future{}
			for i, g := range groups {
				b := rowsOf(g.bucket(0, false), 0, int32(3+i), 8) // #nosec G115 -- 0 or 1
				switch round % 2 {
				case 0:
					futures = append(futures, g.AllReduce(batch, b))
				default:
					futures = append(futures, g.Broadcast(batch, b, 0))
				}
			}
			failed := false
			for i, f := range futures {
				if f.Wait() != nil {
					failed = true
				} else if err := spec.Check(&groups[i].bucket(0, false).Gradient); err != nil {
					t.Errorf("member %d ended with %v", i, err)
				}
			}
			if failed {
				break
			}
		}
		close(stop)
		flipping.Wait()
	}
}
