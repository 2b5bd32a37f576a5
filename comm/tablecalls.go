package comm

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// callKind says what a trainer calls the server of a table for.
type callKind int32

const (
	callLookup callKind = iota
	callUpdate
	callKinds
)

func (k callKind) String() string { return [callKinds]string{"lookup", "update"}[k] }

// describeCall names a call in errors.
func describeCall(kind callKind, batch int64) string {
	if batch == NoBatch {
		return fmt.Sprintf("a %s for no batch", kind)
	}
	return fmt.Sprintf("the %s of batch %d", kind, batch)
}

// tableCalls is what links to the server of a table share: the call in flight and
// the error that ended the link, which may have stopped in the middle of a frame.
type tableCalls struct {
	self, peer   string
	store        *LookupStore
	first, width int // the table's columns
	timeout      time.Duration
	futures      [callKinds]*Future

	mu       sync.Mutex
	err      error
	pending  bool
	kind     callKind
	batch    int64
	deadline time.Time
	looked   int64 // what the last lookup was asked, -1 once an update has followed it
}

func newTableCalls(conn *Conn, store *LookupStore, table int, timeout time.Duration) tableCalls {
	return tableCalls{
		self: conn.self, peer: conn.peer, store: store, timeout: timeout, looked: -1,
		first: store.first(table), width: store.Tables[table].Width,
		futures: [callKinds]*Future{NewFuture(), NewFuture()},
	}
}

// begin makes a call pending. It is an error, and changes nothing, if the link has
// ended, if a call is in flight, or if an update is not that of the last lookup. The
// caller holds mu.
func (c *tableCalls) begin(kind callKind, batch int64) error {
	switch {
	case c.err != nil:
		return c.err
	case c.pending:
		return fmt.Errorf("%s started %s at %s while %s is in flight", c.self, describeCall(kind, batch), c.peer, c.what())
	case kind == callUpdate && (c.looked != c.store.asked || c.batch != batch):
		return fmt.Errorf("%s started %s at %s, but an update follows the lookup of the same bags and batch, once", c.self, describeCall(kind, batch), c.peer)
	}
	c.looked = -1
	if kind == callLookup {
		c.looked = c.store.asked
	}
	c.pending, c.kind, c.batch, c.deadline = true, kind, batch, time.Now().Add(c.timeout)
	c.store.calls.Add(1)
	c.futures[kind].Begin()
	return nil
}

// what names the last call; the caller holds mu.
func (c *tableCalls) what() string { return describeCall(c.kind, c.batch) }

// end ends the call in flight, if there is one; the caller holds mu.
func (c *tableCalls) end(err error, endNS int64) {
	if !c.pending {
		return
	}
	c.pending = false
	c.store.calls.Add(-1)
	c.futures[c.kind].completeAt(err, endNS)
}

// fail ends the link with err. It is false if the link has ended before, in which
// case err is a consequence and forgotten.
func (c *tableCalls) fail(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	return true
}

// failIdle is fail for the orderly end of a link: it is true if the link had not
// ended and no call is in flight.
func (c *tableCalls) failIdle() (orderly bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	orderly = c.err == nil && !c.pending
	if c.err == nil {
		c.err = fmt.Errorf("%s has closed the link to %s: %w", c.self, c.peer, net.ErrClosed)
	}
	return orderly
}

// finish fails the call in flight of a link that has ended.
func (c *tableCalls) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(c.err, Now())
}

// awaited is what the link waits for.
func (c *tableCalls) awaited() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending {
		return "the answer to " + c.what()
	}
	return "a pause between calls"
}
