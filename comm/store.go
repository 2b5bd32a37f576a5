package comm

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// Store is the storage of a rank's buckets, in the order of their specs.
type Store struct {
	Buckets []*tensor.Bucket

	// Segment holds the buckets in shared memory; nil if they are on the heap.
	Segment *shm.Segment

	// Lent are the same buckets with values in device memory. Peers on the
	// device may use the values in place. Lent buckets share their rows with
	// Buckets. Lent is nil if the store lends nothing.
	Lent []*tensor.Bucket
}

// NewStore allocates a store on the heap of this process.
func NewStore(specs []tensor.BucketSpec) *Store {
	s := &Store{}
	for _, spec := range specs {
		s.Buckets = append(s.Buckets, tensor.NewBucket(spec))
	}
	return s
}

// Specs lists the specs of the buckets.
func (s *Store) Specs() []tensor.BucketSpec {
	specs := make([]tensor.BucketSpec, len(s.Buckets))
	for i, b := range s.Buckets {
		specs[i] = b.BucketSpec
	}
	return specs
}

// Memory returns the memory of the buckets' values: the segment, or one slice
// per bucket on the heap.
func (s *Store) Memory() [][]byte {
	if s.Segment != nil {
		return [][]byte{s.Segment.Bytes()}
	}
	var memory [][]byte
	for _, b := range s.Buckets {
		memory = append(memory, tensor.Float32Bytes(b.Gradient.Values[:cap(b.Gradient.Values)]))
	}
	return memory
}

// Close frees the memory. Nothing may use the store's buckets afterwards.
func (s *Store) Close() error {
	if s.Segment == nil {
		return nil
	}
	return s.Segment.Close()
}
