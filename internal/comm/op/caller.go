package op

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// Caller is the state that a table's port keeps per trainer. Caller copies a
// trainer's call and then checks the copy, so the server uses exactly the
// checked bytes.
type Caller struct {
	comm.TableCall
	Self, Peer string
	rows       int
	spec       *comm.LookupSpec
	offsets    []int64 // has room for the largest batch
	indices    []int64
	looked     bool // the last call was a lookup, so an update may follow
}

// NewCaller makes the Caller for one trainer, at the other end of conn. self
// names the port's rank.
func NewCaller(self string, conn *wire.Conn, trainer int, spec *comm.LookupSpec, table int) *Caller {
	return &Caller{
		TableCall: comm.TableCall{Trainer: trainer, Width: spec.Tables[table].Width},
		Self:      self, Peer: conn.Peer(), rows: spec.Tables[table].Rows, spec: spec,
		offsets: make([]int64, spec.Bags+1), indices: make([]int64, spec.Indices),
	}
}

// MakeRoom sizes Offsets and Indices for the bags of a lookup. Both counts come
// from the trainer, so MakeRoom checks them.
func (c *Caller) MakeRoom(bags, indices int64) error {
	if bags < 0 || indices < 0 || bags > int64(c.spec.Bags) || indices > int64(c.spec.Indices) {
		return fmt.Errorf("%s asked %s for %d bags with %d indices, but both agreed on at most %d with %d", c.Peer,
			c.Self, bags, indices, c.spec.Bags, c.spec.Indices)
	}
	c.looked = false
	c.Offsets, c.Indices = c.offsets[:bags+1], c.indices[:indices]
	return nil
}

// BeginLookup checks the bags in Offsets and Indices and makes the call a
// lookup of them.
func (c *Caller) BeginLookup(batch, atNS int64) error {
	if err := comm.CheckOffsets(c.Offsets, len(c.Indices)); err != nil {
		return fmt.Errorf("%s asked %s for bags whose %w", c.Peer, c.Self, err)
	}
	for k, row := range c.Indices {
		if row < 0 || row >= int64(c.rows) {
			return c.outside(k)
		}
	}
	c.looked = true
	c.Batch, c.AtNS, c.Update = batch, atNS, false
	return nil
}

// outside returns the error for index k, which is not a row of the table.
func (c *Caller) outside(k int) error {
	bag := 0
	for c.Offsets[bag+1] <= int64(k) {
		bag++
	}
	return fmt.Errorf("%s asked %s for row %d at bag %d, position %d, of a table of %d rows", c.Peer, c.Self,
		c.Indices[k], bag, int64(k)-c.Offsets[bag], c.rows)
}

// BeginUpdate makes the call the update for the last lookup.
func (c *Caller) BeginUpdate(batch, atNS int64) error {
	if !c.looked || c.Batch != batch {
		return fmt.Errorf("%s sent %s %s, but an update follows the lookup of the same batch, once", c.Peer, c.Self,
			CallUpdate.Name(batch))
	}
	c.looked = false
	c.AtNS, c.Update = atNS, true
	return nil
}
