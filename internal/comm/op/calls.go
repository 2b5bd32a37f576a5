package op

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// CallKind is the kind of a trainer's call to a table's server: lookup or
// update.
type CallKind int32

// The kinds of calls.
const (
	CallLookup CallKind = iota
	CallUpdate
	CallKinds // number of kinds
)

func (k CallKind) String() string { return [CallKinds]string{"lookup", "update"}[k] }

// Name names a call in errors.
func (k CallKind) Name(batch int64) string {
	if batch == comm.NoBatch {
		return fmt.Sprintf("a %s for no batch", k)
	}
	return fmt.Sprintf("the %s of batch %d", k, batch)
}

// Calls tracks the calls of a link to a table's server. The link has at most
// one call in flight.
type Calls struct {
	Life
	Peer         string
	Store        *comm.LookupStore
	First, Width int // the table's columns among the joined columns of all tables

	calls  [CallKinds]Operation
	last   CallKind
	Looked int64 // value of Asked at the last lookup; -1 once an update has followed
}

// Init sets up the link over conn to a table's server. drive(kind) returns a
// function that carries out a call of this kind on a waiter's goroutine; drive
// may be nil.
func (c *Calls) Init(conn *wire.Conn, store *comm.LookupStore, table int, timeout time.Duration,
	drive func(CallKind) func()) {
	c.Self, c.Peer, c.Link, c.Timeout = conn.Self(), conn.Peer(), "the link to "+conn.Peer(), timeout
	c.Awaits, c.Idle = "the answer to ", "a pause between calls"
	c.Store, c.First, c.Width, c.Looked = store, store.FirstColumn(table), store.Tables[table].Width, -1
	for kind := range c.calls {
		kind := CallKind(kind) // #nosec G115 -- one of two
		var by func()
		if drive != nil {
			by = drive(kind)
		}
		c.calls[kind] = NewOperation(kind, by, store)
		c.Add(&c.calls[kind])
	}
}

// Call returns the operation for calls of a kind.
func (c *Calls) Call(kind CallKind) *Operation { return &c.calls[kind] }

// InFlight returns the call in flight, or nil. The caller holds Mu.
func (c *Calls) InFlight() (*Operation, CallKind) {
	if o := &c.calls[c.last]; o.Pending() {
		return o, c.last
	}
	return nil, 0
}

// Begin makes a call pending. Begin returns an error, and changes nothing, if
// the link has ended, if a call is in flight, or if an update does not match
// the last lookup. The caller holds Mu.
func (c *Calls) Begin(kind CallKind, batch int64) (*Operation, error) {
	last, _ := c.InFlight()
	switch {
	case c.err != nil:
		return nil, c.err
	case last != nil:
		return nil, fmt.Errorf("%s started %s at %s while %s is in flight", c.Self, kind.Name(batch), c.Peer,
			last)
	case kind == CallUpdate && (c.Looked != c.Store.Asked() || c.calls[CallLookup].Batch != batch):
		return nil, fmt.Errorf("%s started %s at %s, but an update follows the lookup of the same bags and batch, once",
			c.Self, kind.Name(batch), c.Peer)
	}
	c.Looked = -1
	if kind == CallLookup {
		c.Looked = c.Store.Asked()
	}
	c.last = kind
	c.Store.Lend()
	o := &c.calls[kind]
	c.Start(o, batch)
	return o, nil
}

// RefuseTableLink closes the connection of a link that cannot be made, and
// returns an error with the reason.
func RefuseTableLink(conn *wire.Conn, why error) error {
	_ = conn.Close()
	return fmt.Errorf("%s cannot join %s: %w", conn.Self(), conn.Peer(), why)
}

// RefuseTablePort closes the connections of a port that cannot be made, and
// returns an error with the reason.
func RefuseTablePort(trainers wire.Links, why error) error {
	_ = trainers.Close()
	return fmt.Errorf("%s: %w", trainers.Self, why)
}
