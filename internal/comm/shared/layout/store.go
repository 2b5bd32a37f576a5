package layout

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// NewStore makes a store in a segment. If touch is false, pages are allocated
// at their first use.
func NewStore(name string, specs []tensor.BucketSpec, touch bool) (*comm.Store, error) {
	segment, err := shm.New(name, StoreBytes(specs), touch)
	if err != nil {
		return nil, err
	}
	return ViewStore(segment, specs), nil
}

// Reserve returns an error if a bucket does not fit into the available memory.
// Use it for a store whose pages are allocated at their first use.
func Reserve(owner string, spec *tensor.BucketSpec) error {
	_, bytes := bucketBytes(spec)
	return shm.Reserve(fmt.Sprintf("the copies of bucket %d of %s", spec.Index, owner), int64(bytes))
}

// In a segment each bucket starts on a new page. The published rows (capacity x
// 4 bytes) come first; the values start on the next cache line.
const (
	PageBytes = 4096
	LineBytes = 64
)

// RoundUp rounds n up to a multiple of to.
func RoundUp(n, to int) int { return (n + to - 1) / to * to }

// bucketBytes is the size of one bucket; its values start at byte from.
func bucketBytes(spec *tensor.BucketSpec) (from, size int) {
	values := spec.Elements
	if spec.Sparse {
		from, values = RoundUp(4*spec.Capacity, LineBytes), spec.Capacity*spec.Width
	}
	return from, RoundUp(from+4*values, PageBytes)
}

// StoreBytes is the size in bytes of a store with these specs, at least one
// page.
func StoreBytes(specs []tensor.BucketSpec) int {
	size := 0
	for i := range specs {
		_, n := bucketBytes(&specs[i])
		size += n
	}
	return max(size, PageBytes)
}

// ViewStore interprets a segment of StoreBytes(specs) bytes as a store.
func ViewStore(segment *shm.Segment, specs []tensor.BucketSpec) *comm.Store {
	s := &comm.Store{Segment: segment}
	rest := segment.Bytes()
	for _, spec := range specs {
		from, size := bucketBytes(&spec)
		s.Buckets = append(s.Buckets, viewBucket(rest[:size], spec, from))
		rest = rest[size:]
	}
	return s
}

// viewBucket is the bucket whose published rows start at at[0] and whose values
// start at at[from].
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

// SendStore passes s to the peer, which calls ReceiveStore. Both sides share
// the memory of the values. Each side has its own rows of a sparse gradient and
// passes them on by ShowRows and TakeRows.
func SendStore(conn *wire.Conn, s *comm.Store) error {
	if s.Segment == nil {
		return fmt.Errorf("%s cannot pass its buckets to %s: they are not in shared memory", conn.Self(), conn.Peer())
	}
	return conn.SendSegments(s.Segment)
}

// ReceiveStore maps the peer's store, which has these specs.
func ReceiveStore(conn *wire.Conn, specs []tensor.BucketSpec, prefault bool) (*comm.Store, error) {
	all, err := conn.ReceiveSegments(false, wire.WantedSegment{Size: StoreBytes(specs), Prefault: prefault})
	if err != nil {
		return nil, err
	}
	return ViewStore(all[0], specs), nil
}

// NewLookupStore makes a lookup store in a segment and touches all its pages.
func NewLookupStore(owner string, spec comm.LookupSpec) (*comm.LookupStore, error) {
	if err := spec.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", owner, err)
	}
	segment, err := shm.New(owner+" lookups", LookupBytes(&spec), true)
	if err != nil {
		return nil, err
	}
	return ViewLookups(owner, segment, spec), nil
}

// A segment holds values, gradients, offsets and indices; each starts on a new
// page.
func lookupSizes(s *comm.LookupSpec) [4]int {
	values := RoundUp(4*s.Bags*s.Columns(), PageBytes)
	return [4]int{values, values, RoundUp(8*(s.Bags+1), PageBytes), RoundUp(8*s.Indices, PageBytes)}
}

// LookupBytes is the size in bytes of a segment for lookups.
func LookupBytes(s *comm.LookupSpec) (bytes int) {
	for _, size := range lookupSizes(s) {
		bytes += size
	}
	return bytes
}

// ViewLookups interprets a segment of LookupBytes(&spec) bytes as a lookup
// store. The segment may already hold bags.
func ViewLookups(owner string, segment *shm.Segment, spec comm.LookupSpec) *comm.LookupStore {
	sizes, values := lookupSizes(&spec), spec.Bags*spec.Columns()
	rest := segment.Bytes()
	next := func(part int) []byte {
		at := rest[:sizes[part]]
		rest = rest[sizes[part]:]
		return at
	}
	s := &comm.LookupStore{LookupSpec: spec, Owner: owner, Segment: segment}
	s.Values, s.Gradients = tensor.ViewOf[float32](next(0), values), tensor.ViewOf[float32](next(1), values)
	s.BagOffsets, s.BagIndices = tensor.ViewOf[int64](next(2), spec.Bags+1)[:1], tensor.ViewOf[int64](next(3),
		spec.Indices)[:0]
	return s
}
