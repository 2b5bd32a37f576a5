package trainer

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/sdk"
)

// counted are a rank's batches, with what the trainer took of them in a pass.
type counted struct {
	batches.Batches
	size  int          // samples of the batch that Next gave last
	taken atomic.Int64 // in this pass
}

func (c *counted) Next() (*sdk.Batch, error) {
	c.taken.Add(1)
	batch, err := c.Batches.Next()
	if err == nil {
		c.size = batch.Size()
	}
	return batch, err
}

// Rewind begins a pass.
func (c *counted) Rewind() error {
	c.taken.Store(0)
	return c.Batches.Rewind()
}

// place names the batch that was taken last.
func (c *counted) place() string {
	last := int(c.taken.Load()) - 1
	if last < 0 {
		return ""
	}
	return fmt.Sprintf(", epoch %d, batch %d", last/c.Len(), last%c.Len())
}
