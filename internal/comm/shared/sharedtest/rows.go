package sharedtest

import (
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
)

var flipped = []int32{math.MaxInt32, -1, math.MinInt32}

// Flip overwrites rows with numbers that no table has.
func Flip(shown []int32) {
	for i := range shown {
		atomic.StoreInt32(&shown[i], flipped[i%len(flipped)])
	}
}

// Foreign maps a store a second time, as another process does.
func Foreign(t commtest.TB, s *comm.Store) *tensor.Bucket {
	t.Helper()
	fd, err := unix.Dup(s.Segment.FD())
	commtest.Must(t, err)
	segment, err := shm.Open(fd, len(s.Segment.Bytes()), false, false)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = segment.Close() })
	return layout.ViewStore(segment, s.Specs()).Buckets[0]
}

// RowsOf gives the bucket these rows, with all values 1.
func RowsOf(b *tensor.Bucket, rows ...int32) *tensor.Bucket {
	b.Gradient.Rows = append(b.Gradient.Rows[:0], rows...)
	b.Gradient.Values = b.Gradient.Values[:len(rows)*b.Width]
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = 1
	}
	return b
}

// BucketOf returns bucket k of a store, or a new bucket on the heap.
func BucketOf(s *comm.Store, k int, copied bool) *tensor.Bucket {
	if copied {
		return tensor.NewBucket(s.Buckets[k].BucketSpec)
	}
	return s.Buckets[k]
}
