package comm

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
)

// Store is the storage of a rank's buckets, in the order of their specs.
type Store struct {
	Buckets []*tensor.Bucket

	// Segment is what holds them, nil on the heap.
	Segment *shm.Segment

	// Lent are the same buckets with values in the memory of a device, which peers on it may use in
	// place. They have the rows of Buckets. nil where there are none.
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

// Memory is where the values of the buckets lie: the segment, or each bucket's on the heap.
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

// Close gives the memory back. Nothing may use a bucket of the store after it.
func (s *Store) Close() error {
	if s.Segment == nil {
		return nil
	}
	return s.Segment.Close()
}
