package comm

import (
	"fmt"

	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// Store is the storage of a rank's buckets, in the order of their specs.
type Store struct {
	Buckets []*tensor.Bucket

	// Segment is what holds them, nil on the heap.
	Segment *shm.Segment
}

// NewStore allocates a store on the heap of this process.
func NewStore(specs []tensor.BucketSpec) *Store {
	s := &Store{}
	for _, spec := range specs {
		s.Buckets = append(s.Buckets, tensor.NewBucket(spec))
	}
	return s
}

// NewSharedStore allocates a store in a segment of shared memory, which the
// ranks that this one joins on Shm will map. All of it is touched, so that no
// page fault falls into an iteration. The error says how much memory there is if
// that is not enough.
func NewSharedStore(owner string, specs []tensor.BucketSpec) (*Store, error) {
	return newSegmentStore(owner+" buckets", specs, true)
}

// newSegmentStore makes a store in a segment; untouched, its pages come into
// being at their first use.
func newSegmentStore(name string, specs []tensor.BucketSpec, touch bool) (*Store, error) {
	segment, err := shm.New(name, storeSize(specs), touch)
	if err != nil {
		return nil, err
	}
	return viewStore(segment, specs), nil
}

// reserve reports that a bucket of a store whose pages come into being at their
// first use does not fit into the memory there is.
func reserve(owner string, spec *tensor.BucketSpec) error {
	_, bytes := bucketBytes(spec)
	return shm.Reserve(fmt.Sprintf("the copies of bucket %d of %s", spec.Index, owner), int64(bytes))
}

// Specs lists the specs of the buckets.
func (s *Store) Specs() []tensor.BucketSpec {
	specs := make([]tensor.BucketSpec, len(s.Buckets))
	for i, b := range s.Buckets {
		specs[i] = b.BucketSpec
	}
	return specs
}

// Close gives the memory back. Nothing may use a bucket of the store after it.
func (s *Store) Close() error {
	if s.Segment == nil {
		return nil
	}
	return s.Segment.Close()
}

// In a segment each bucket starts on a page of its own: the rows that are shown
// (capacity x 4 bytes) and then, from the next cache line on, values.
const (
	pageBytes = 4096
	lineBytes = 64
)

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// bucketBytes is the space of one bucket; values start at byte from.
func bucketBytes(spec *tensor.BucketSpec) (from, size int) {
	values := spec.Elements
	if spec.Sparse {
		from, values = roundUp(4*spec.Capacity, lineBytes), spec.Capacity*spec.Width
	}
	return from, roundUp(from+4*values, pageBytes)
}

// storeSize is the size of a store of specs in bytes, at least a page.
func storeSize(specs []tensor.BucketSpec) int {
	size := 0
	for i := range specs {
		_, n := bucketBytes(&specs[i])
		size += n
	}
	return max(size, pageBytes)
}

// viewStore lays buckets over a segment of storeSize(specs) bytes.
func viewStore(segment *shm.Segment, specs []tensor.BucketSpec) *Store {
	s := &Store{Segment: segment}
	rest := segment.Bytes()
	for _, spec := range specs {
		from, size := bucketBytes(&spec)
		s.Buckets = append(s.Buckets, viewBucket(rest[:size], spec, from))
		rest = rest[size:]
	}
	return s
}

// viewBucket is the bucket whose shown rows start at at[0] and whose values start at
// at[from].
func viewBucket(at []byte, spec tensor.BucketSpec, from int) *tensor.Bucket {
	b := &tensor.Bucket{BucketSpec: spec}
	if !spec.Sparse {
		b.Gradient = tensor.Gradient{Values: tensor.ViewOf[float32](at, spec.Elements)}
		return b
	}
	b.Shown = tensor.ViewOf[int32](at, spec.Capacity)
	b.Gradient = tensor.Gradient{
		Rows:   make([]int32, 0, spec.Capacity),
		Values: tensor.ViewOf[float32](at[from:], spec.Capacity*spec.Width)[:0],
		Width:  spec.Width,
	}
	return b
}
