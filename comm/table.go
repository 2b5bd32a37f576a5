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
	Bags    int // most bags in a batch, over all trainers
	Indices int // most indices in a batch, over all trainers
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

// LookupStore is the memory of one trainer's lookups. The trainer's links to
// all servers share the store; in shared memory the servers map it. The trainer
// owns the store while no call is in flight.
type LookupStore struct {
	LookupSpec
	// Values holds the joined columns of the bags in the last lookup, [bags,
	// Columns()]. Gradients holds their gradient. Values and Gradients have
	// room for Bags bags.
	Values, Gradients []float32
	// BagOffsets and BagIndices are the bags of the last Ask. Links read them;
	// only Ask sets them. BagOffsets and BagIndices have room for the largest
	// batch.
	BagOffsets, BagIndices []int64

	Owner   string       // the trainer's name, for errors
	Segment *shm.Segment // holds the store's memory; nil on the heap
	asked   int64        // number of Ask calls
	calls   atomic.Int32 // calls in flight, over all links
}

// NoBatch is the batch number of a lookup outside a pass, such as a lookup of
// held-out samples. No update follows it.
const NoBatch = -1

// TableLink is a trainer's end of a link to a server that holds a table. Calls
// return at once. The trainer must not touch the store until the future is
// done, but it may read Values during an Update. A link has at most one call in
// flight. Batches count from 0, or are NoBatch.
//
// The future's error is a *WaitError at the deadline and a *PeerError if the
// server is gone; either ends the link.
type TableLink interface {
	// Lookup asks the server to write its columns of Values for the bags of the
	// last Ask.
	Lookup(batch int64) *Future
	// Update sends the server its columns of Gradients, for the bags of the
	// last Lookup. batch must be the batch of that Lookup. Each lookup has at
	// most one update. Once the future is done, the server has applied the
	// update.
	Update(batch int64) *Future
	// Close ends the link and waits for its goroutines, as ServerLink.Close
	// does.
	io.Closer
}

// TableCall is a trainer's call as the table's server sees it. In shared memory
// Values is the trainer's own memory. The port owns the call and reuses it once
// the server has handled it.
type TableCall struct {
	Batch   int64 // batch of the call, or NoBatch
	Trainer int   // position among the port's connections
	Update  bool  // true for an update, false for a lookup
	// Offsets and Indices are the bags: see Batch of package sdk. The port has
	// checked that the offsets are valid and that the indices lie within the
	// table.
	Offsets, Indices []int64
	AtNS             int64 // when the call arrived, in ns of Now

	// Values holds the table's Width columns of bag i from i*Stride on.
	Values        []float32
	Stride, Width int
}

// Bags is the number of bags.
func (c *TableCall) Bags() int { return len(c.Offsets) - 1 }

// Bag returns the rows of bag i.
func (c *TableCall) Bag(i int) []int64 { return c.Indices[c.Offsets[i]:c.Offsets[i+1]] }

// Columns is the table's columns of bag i. A lookup writes them; in an update
// they hold the gradient.
func (c *TableCall) Columns(i int) []float32 {
	return c.Values[i*c.Stride : i*c.Stride+c.Width : i*c.Stride+c.Width]
}

// TablePort is a table server's end of its links to trainers.
type TablePort interface {
	// Serve takes calls until every trainer has closed its link in order, Close
	// is called or an error ends all links. Serve returns the first error.
	// Serve passes one call at a time to handle and answers the call when
	// handle returns. An error of handle ends Serve. Call Serve once.
	Serve(handle func(*TableCall) error) error
	// Close ends all links and waits for Serve, so handle must not call it.
	io.Closer
}
