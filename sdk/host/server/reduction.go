package server

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// reduction runs an elementwise server on the gradients of a bucket, chunk by chunk.
type reduction struct {
	server sdk.ElementwiseServer
	timing sdk.Timing
	// spread says that the answer is copied into every trainer's dense gradient, where
	// the trainer itself finds it. Otherwise it is in one gradient alone, to be
	// sent from there.
	spread   bool
	pool     *pool
	clock    clock
	computed *sdk.Series // how long the server took for each (batch, bucket)
}

// chunk is the state of one chunk of a bucket: the arrivals of the batch that is in
// flight there. There is only one: no trainer has an answer, and so a chunk of the
// next batch to push, before all have pushed.
type chunk struct {
	mu       sync.Mutex
	batch    int64
	arrived  int
	arrivals []*comm.Arrival // by trainer
	blocks   blockReduction  // of a dense bucket
	rows     *rowReduction   // of a sparse one, which is one chunk; nil for a dense one
	own      worker          // of whoever brings the last arrival
}

// newChunks makes the chunks of a bucket.
func (r *reduction) newChunks(spec tensor.BucketSpec, trainers int) []chunk {
	n := 1
	if !spec.Sparse {
		n = comm.Chunks(spec.Elements)
	}
	chunks := make([]chunk, n)
	for i := range chunks {
		c := &chunks[i]
		c.arrivals = make([]*comm.Arrival, trainers)
		if spec.Sparse {
			c.rows = newRowReduction(r, spec, trainers)
			continue
		}
		c.blocks = blockReduction{reduction: r, parts: make([][]float32, trainers), rest: make([][]float32, 0, trainers)}
		c.own.parts = make([][]float32, trainers)
	}
	return chunks
}

// add does what there is to do when a gradient arrives. The caller holds c.mu. At the last
// arrival it is true, answer has what all get, and spentNS is how long the server's own
// methods took of what is measured.
func (c *chunk) add(a *comm.Arrival) (spentNS int64, last bool, err error) {
	c.arrivals[a.Trainer] = a
	c.arrived++
	first, last := c.arrived == 1, c.arrived == len(c.arrivals)
	if last {
		c.arrived = 0
	}
	if c.rows != nil {
		spentNS, err = c.rows.add(a, first, last)
	} else {
		spentNS = c.blocks.add(&c.own, a, first, last)
	}
	return spentNS, last, err
}

// answer is what a trainer gets.
func (c *chunk) answer(trainer int) *tensor.Gradient {
	switch {
	case c.rows != nil:
		return &c.rows.sum
	case c.blocks.spread:
		return c.arrivals[trainer].Gradient
	default:
		return c.arrivals[c.blocks.owner].Gradient
	}
}
