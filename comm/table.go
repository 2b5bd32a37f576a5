package comm

import (
	"io"
	"sync/atomic"

	"github.com/psbench/psbench/internal/comm/shm"
)

// TableSpec is the size of an embedding table: Rows of Width columns.
type TableSpec struct {
	Rows  int `json:"rows"`
	Width int `json:"width"`
}

// LookupSpec is the size of trainers' lookups in the tables of all servers. The columns of
// the tables are joined, table 0 first.
type LookupSpec struct {
	Tables  []TableSpec
	Bags    int // in the largest batch of any trainer
	Indices int // in the largest batch of any trainer
}

// Columns is the number of joined columns.
func (s *LookupSpec) Columns() int { return s.FirstColumn(len(s.Tables)) }

// FirstColumn is the first joined column of a table.
func (s *LookupSpec) FirstColumn(table int) int {
	n := 0
	for _, t := range s.Tables[:table] {
		n += t.Width
	}
	return n
}

// LookupStore is the memory of one trainer's lookups, which the links to all servers share. In
// shared memory the servers map it. The trainer owns it while no call is in flight.
type LookupStore struct {
	LookupSpec
	// Values holds the joined columns of the bags that were looked up, [bags,
	// Columns()], and Gradients their gradient; both have room for Bags bags.
	Values, Gradients []float32
	// BagOffsets and BagIndices are the bags asked, for links to read; Ask alone sets them.
	// They have room for the largest batch.
	BagOffsets, BagIndices []int64

	Owner   string       // the trainer, for errors
	Segment *shm.Segment // what holds all this; nil on the heap
	asked   int64        // counts what was asked
	calls   atomic.Int32 // in flight, of all links
}

// NoBatch is the number of a lookup outside a pass, such as one for held-out samples. No
// update follows it.
const NoBatch = -1

// TableLink is a trainer's end of a link to a server that holds a table. Calls return at once. The
// trainer must not touch the store until the future is done, but may read Values while an Update is
// in flight. A link has one call in flight; batches count from 0, or are NoBatch. The future's error
// is a *WaitError at the deadline and a *PeerError if the server is gone; either ends the link.
type TableLink interface {
	// Lookup has the server write its columns of Values for the bags asked.
	Lookup(batch int64) *Future
	// Update hands the server its columns of Gradients for the bags of the last Lookup,
	// of the same batch. Each lookup has one update at most. The server has applied the
	// update once the future is done.
	Update(batch int64) *Future
	// Close ends the link and waits for what runs on it, as ServerLink's does.
	io.Closer
}

// TableCall is a trainer's call at the server of a table. In shared memory Values is the trainer's own
// memory. The port owns the call and reuses it once the server has handled it.
type TableCall struct {
	Batch   int64 // or NoBatch
	Trainer int   // position among the port's connections
	Update  bool  // else it is a lookup
	// Offsets and Indices are the bags: see Batch of package sdk. Offsets have been
	// checked to cut the indices, and indices to lie within the table.
	Offsets, Indices []int64
	AtNS             int64 // when the call arrived, in ns of Now

	// Values has the table's Width columns of bag i from i*Stride on.
	Values        []float32
	Stride, Width int
}

// Bags is the number of bags.
func (c *TableCall) Bags() int { return len(c.Offsets) - 1 }

// Bag is the rows of bag i.
func (c *TableCall) Bag(i int) []int64 { return c.Indices[c.Offsets[i]:c.Offsets[i+1]] }

// Columns is the table's columns of bag i: to be written by a lookup, their gradient in
// an update.
func (c *TableCall) Columns(i int) []float32 {
	return c.Values[i*c.Stride : i*c.Stride+c.Width : i*c.Stride+c.Width]
}

// TablePort is the end of the links of all trainers at the server of a table.
type TablePort interface {
	// Serve takes calls until every trainer has closed its link in order, Close is
	// called or an error ends all links. It returns the first error. It calls handle
	// with one call at a time and answers it when handle returns; an error of handle
	// ends Serve. Call Serve once.
	Serve(handle func(*TableCall) error) error
	// Close ends all links and waits for Serve, so handle must not call it.
	io.Closer
}
