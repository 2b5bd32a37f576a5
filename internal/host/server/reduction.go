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
	computed *sdk.Series // the server's own time for each (batch, bucket)
}

// chunk is the state of one chunk of a bucket: the arrivals of the batch in flight. Only one batch
// can be in flight. A trainer pushes a chunk of the next batch only after its answer, and answers
// come after all trainers have pushed.
type chunk struct {
	mu       sync.Mutex
	batch    int64
	arrived  int
	arrivals []*comm.Arrival // by trainer
	blocks   blockReduction  // for a dense bucket
	rows     *rowReduction   // for a sparse bucket, which is a single chunk; nil for a dense one
	own      worker          // state of the goroutine with the last arrival
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

// add does the work for one arrival. The caller holds c.mu. At the last arrival, add returns true:
// answerTo then returns the answers, and spentNS is the measured time of the server's own methods.
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

// answerTo returns the answer to a trainer.
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

// blockReduction reduces a chunk of dense gradients in the memory in which they arrived. For a
// bucket of S bytes and T trainers, the costs in bytes read and written are:
//
//   - on arrival: nothing for the first gradient, and 3S for each gradient that is combined
//     before the next one arrives. At the last arrival, with n gradients still to combine,
//     (1+n)*S are read and T*S written;
//   - on the last arrival: nothing before that, then T*S are read and T*S written;
//   - with one trainer: only the memory that the server's Finish accesses.
//
// All work after the last arrival goes block by block, as a job of the pool. So a block stays in
// the cache from its first combination until its last copy is written. If trainers are not answered
// in place, S bytes are written instead of T*S, in addition to the sent bytes.
//
// If a gradient arrives in pieces, all work waits for the last arrival. The work then handles the
// first piece of all trainers, then the second, and so on, in the same order of trainers.
type blockReduction struct {
	*reduction
	parts    [][]float32   // the gradients, by trainer
	pieces   []comm.Pieces // pieces of the gradients that arrive in pieces, by trainer
	inPieces bool          // whether any gradient arrives in pieces
	// inPlace says, by trainer, whether the answer is copied to the memory of the trainer's gradient.
	// If inPlace is false, the answer is sent from the memory in which it is computed.
	inPlace []bool
	owner   int   // trainer whose gradient's memory holds the answer
	rest    []int // trainers whose gradients are not combined so far
	last    bool  // the last gradient has arrived, so the answer is due
}

// add records a gradient and combines the arrived gradients as the server's timing says.
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
		return min(spentNS, b.clock.now()-start), nil // the estimate may exceed the total time
	case b.timing == sdk.OnArrival && !first && !a.More && !b.inPieces: // else the next gradient is here
		b.work(own, a)
		b.rest = b.rest[:0]
	}
	return 0, nil
}

// work processes the gradients when a has arrived. If gradients arrive in frames, other goroutines
// are copying frames and adding gradients on the other cores. Waking a helper would then cost more
// than it saves.
func (b *blockReduction) work(own *worker, a *comm.Arrival) (spentNS int64) {
	if !a.InPlace {
		return runAlone(b, own)
	}
	return b.pool.run(b, own)
}

// alone does the work for a server's only trainer. Nothing is combined or copied, so blocks would
// save nothing.
func (b *blockReduction) alone() (spentNS int64) {
	start := b.clock.now()
	b.server.Finish(b.parts[0])
	return int64(max(0, b.clock.since(start)))
}

func (b *blockReduction) elements() int { return len(b.parts[b.owner]) }

// run works on the elements i of the gradients with from <= i < to.
func (b *blockReduction) run(own *worker, from, to int) { b.runBlocks(own, b.parts, from, to) }

// runBlocks works on the elements i of parts with from <= i < to.
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

// block runs all steps of the server on a block. The meter of own measures only the work that the
// server's timing names. block measures neither combinations on arrival nor copies of the answer.
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
