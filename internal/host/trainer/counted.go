package trainer

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/sdk"
)

// counted wraps a rank's batches and counts those that the trainer takes in a pass.
type counted struct {
	batches.Batches
	size  int          // samples in the last batch from Next
	taken atomic.Int64 // batches taken in this pass
}

func (c *counted) Next() (*sdk.Batch, error) {
	c.taken.Add(1)
	batch, err := c.Batches.Next()
	if err == nil {
		c.size = batch.Size()
	}
	return batch, err
}

// Rewind begins a pass and clears the count.
func (c *counted) Rewind() error {
	c.taken.Store(0)
	return c.Batches.Rewind()
}

// place describes the position of the last taken batch, for errors.
func (c *counted) place() string {
	last := int(c.taken.Load()) - 1
	if last < 0 {
		return ""
	}
	return fmt.Sprintf(", epoch %d, batch %d", last/c.Len(), last%c.Len())
}
