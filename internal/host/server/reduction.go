package server

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// reduction runs an elementwise server on the gradients of a bucket, chunk by chunk.
type reduction struct {
	server   sdk.ElementwiseServer
	timing   sdk.Timing
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
	own      worker          // of the goroutine with the last arrival
}

// newChunks makes the chunks of a bucket.
func (r *reduction) newChunks(spec tensor.BucketSpec, trainers int) []chunk {
	n := 1
	if !spec.Sparse {
		n = comm.Chunks(spec.Words())
	}
	chunks := make([]chunk, n)
	for i := range chunks {
		c := &chunks[i]
		c.arrivals = make([]*comm.Arrival, trainers)
		if spec.Sparse {
			c.rows = newRowReduction(r, spec, trainers)
			continue
		}
		c.blocks = blockReduction{
			reduction: r, parts: make([][]float32, trainers), pieces: make([]comm.Pieces, trainers),
			inPlace: make([]bool, trainers),
			rest:    make([]int, 0, trainers),
		}
		c.own.parts, c.own.pieces = make([][]float32, trainers), make([][]float32, trainers)
	}
	return chunks
}

// add does the work of one arrival. The caller holds c.mu. At the last arrival it returns true:
// then answerTo has the answers, and spentNS is the measured time of the server's own methods.
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
		spentNS, err = c.blocks.add(&c.own, a, first, last)
	}
	return spentNS, last, err
}

// answerTo is what a trainer gets.
func (c *chunk) answerTo(trainer int) *tensor.Gradient {
	switch {
	case c.rows != nil:
		return &c.rows.sum
	case c.blocks.inPlace[trainer]:
		return c.arrivals[trainer].Gradient
	default:
		return c.arrivals[c.blocks.owner].Gradient
	}
}

// blockReduction reduces a chunk of dense gradients in the memory in which they arrived. A
// bucket of S bytes from T trainers costs, in bytes read and written:
//
//   - on arrival, nothing for the first gradient, 3S for each that is combined before the
//     next has arrived, and at the last arrival (1+n)*S read, with n gradients still to
//     combine, and T*S written;
//   - on the last arrival, nothing before that, then T*S read and T*S written;
//   - with one trainer, what the server's Finish touches.
//
// All work after the last arrival goes block by block, so that a block is in the
// cache from its first combination until its last copy is written. It is a job of the pool. Where trainers are
// not answered in place, the T*S written are S and what is sent.
//
// Where a gradient comes in pieces, all work waits for the last arrival, and goes through
// everybody's first pieces, then the second, and so on, in the same order.
type blockReduction struct {
	*reduction
	parts    [][]float32   // the gradients, by trainer
	pieces   []comm.Pieces // of the gradients that come in pieces, by trainer
	inPieces bool          // there are some
	// inPlace says of each trainer whether it finds the answer where its gradient is: it is copied there.
	// Otherwise it is sent from where it comes into being.
	inPlace []bool
	owner   int   // the trainer in whose gradient the answer comes into being
	rest    []int // trainers whose gradients are still to be combined with the owner's
	last    bool  // the last gradient is there: the answer is due
}

// add notes a gradient and, as the server's timing says, combines what is there.
func (b *blockReduction) add(own *worker, a *comm.Arrival, first, last bool) (spentNS int64, err error) {
	b.parts[a.Trainer], b.pieces[a.Trainer], b.inPlace[a.Trainer], b.last = a.Gradient.Values, a.Pieces, a.InPlace, last
	if first {
		b.owner, b.rest, b.inPieces = a.Trainer, b.rest[:0], false
	} else {
		b.rest = append(b.rest, a.Trainer)
	}
	b.inPieces = b.inPieces || a.Pieces != nil
	switch {
	case len(b.parts) == 1 && !b.inPieces:
		return b.alone(), nil
	case last:
		if b.timing == sdk.OnLastArrival {
			b.owner, b.rest = 0, b.rest[:0]
			for t := 1; t < len(b.parts); t++ {
				b.rest = append(b.rest, t)
			}
		}
		start := b.clock.now()
		if b.inPieces {
			spentNS, err = b.runPieces(own)
		} else {
			spentNS = b.work(own, a)
		}
		if err != nil {
			return 0, err
		}
		return min(spentNS, b.clock.now()-start), nil // an estimate may exceed all of the work
	case b.timing == sdk.OnArrival && !first && !a.More && !b.inPieces: // else the next one is there already
		b.work(own, a)
		b.rest = b.rest[:0]
	}
	return 0, nil
}

// work goes through the gradients when a has arrived. While gradients arrive in frames, the cores copy the
// frames of others, whose readers add as well: then waking a helper costs more than it saves.
func (b *blockReduction) work(own *worker, a *comm.Arrival) (spentNS int64) {
	if !a.InPlace {
		return runAlone(b, own)
	}
	return b.pool.run(b, own)
}

// alone is the work for a server's only trainer. Nothing is combined or copied, so
// there is nothing to gain from blocks.
func (b *blockReduction) alone() (spentNS int64) {
	start := b.clock.now()
	b.server.Finish(b.parts[0])
	return int64(max(0, b.clock.since(start)))
}

func (b *blockReduction) elements() int { return len(b.parts[b.owner]) }

// run works on elements from to to of the gradients.
func (b *blockReduction) run(own *worker, from, to int) { b.runBlocks(own, b.parts, from, to) }

// runBlocks works on elements from to to of parts.
func (b *blockReduction) runBlocks(own *worker, parts [][]float32, from, to int) {
	for from < to {
		end := min(from+comm.BlockElements, to)
		sum, rest := parts[b.owner][from:end], own.parts[:len(b.rest)]
		for i, t := range b.rest {
			rest[i] = parts[t][from:end]
		}
		b.block(own, sum, rest)
		if b.last {
			for t, p := range parts {
				if t != b.owner && b.inPlace[t] {
					copy(p[from:end], sum)
				}
			}
		}
		from = end
	}
}

// block takes a block through all steps of the server. The meter of own is for what the
// server's timing says: not for what is combined on arrival, and not for the copies that are
// answers.
func (b *blockReduction) block(own *worker, sum []float32, rest [][]float32) {
	if b.timing == sdk.OnArrival && len(rest) > 0 {
		b.server.Combine(sum, rest)
	}
	if !b.last {
		return
	}
	timed, start := own.meter.next(len(sum)), int64(0)
	if timed {
		start = b.clock.now()
	}
	if b.timing == sdk.OnLastArrival {
		b.server.Combine(sum, rest)
	}
	b.server.Finish(sum)
	if timed {
		own.meter.add(b.clock.since(start))
	}
}
