package server

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// reduction runs an elementwise server on dense gradients, in the memory in which
// they arrived. A bucket of S bytes from T trainers costs, in bytes read and
// written:
//
//   - with an accumulator, nothing at the first arrival, 3S for each gradient that
//     is added before the next has arrived, and at the last arrival (1+n)*S read,
//     with n gradients still to add, and T*S written;
//   - with a reducer, nothing until the last arrival, then T*S read and T*S
//     written;
//   - with one trainer, what the server's own Finish or Reduce touches.
//
// All work after the last arrival goes block by block, so that a block is in the
// cache from its first addition until its last copy is written.
type reduction struct {
	reducer     sdk.ElementwiseReducer // either this one
	accumulator sdk.ElementwiseAccumulator
	// spread says that the answer is copied into every trainer's gradient, where
	// the trainer itself finds it. Otherwise it is in one gradient alone, to be
	// sent from there.
	spread bool
	crew   *crew
	clock  clock
}

// elementwise is the reduction that a server wants of its dense gradients, or nil if
// it takes them by Receive.
func elementwise(server sdk.Server, wake sdk.Wake) *reduction {
	r := &reduction{clock: monotonic()}
	switch wake {
	case sdk.EachArrival:
		r.accumulator, _ = server.(sdk.ElementwiseAccumulator)
	case sdk.LastArrival:
		r.reducer, _ = server.(sdk.ElementwiseReducer)
	}
	if r.accumulator == nil && r.reducer == nil {
		return nil
	}
	return r
}

// chunk is the state of one chunk of a bucket: the arrivals of the batch that is in
// flight there. There is only one: no trainer has an answer, and so a chunk of the
// next batch to push, before all have pushed.
type chunk struct {
	mu       sync.Mutex
	batch    int64
	arrived  int
	arrivals []*comm.Arrival // by trainer
	work     chunkWork
	own      worker // of whoever brings the last arrival
}

// chunkWork is the work at one arrival; it is a job.
type chunkWork struct {
	*reduction
	step  step
	parts [][]float32 // the gradients, by trainer
	owner int         // the trainer in whose gradient the answer comes into being
	rest  [][]float32 // gradients that an accumulator has still to add
}

type step int

const (
	adding    step = iota // to the sum
	finishing             // the addition of the last gradients, then the answer
	reducing              // all gradients
)

func (r *reduction) newChunks(n, trainers int) []chunk {
	chunks := make([]chunk, n)
	for i := range chunks {
		c := &chunks[i]
		c.arrivals = make([]*comm.Arrival, trainers)
		c.work = chunkWork{reduction: r, parts: make([][]float32, trainers), rest: make([][]float32, 0, trainers)}
		c.own.parts = make([][]float32, trainers)
	}
	return chunks
}

// take does what there is to do when a trainer's gradient arrives; more says that
// the next is there already. The caller holds c.mu. At the last arrival it is true, the
// gradient of c.work.owner, or with spread every gradient, holds the answer, and spentNS
// is how long the server's own Finish or Reduce took.
func (c *chunk) take(trainer int, values []float32, more bool) (spentNS int64, last bool) {
	w := &c.work
	w.parts[trainer] = values
	c.arrived++
	first, last := c.arrived == 1, c.arrived == len(w.parts)
	if first {
		w.owner = trainer
		w.rest = w.rest[:0]
	} else {
		w.rest = append(w.rest, values)
	}
	switch {
	case len(w.parts) == 1:
		c.arrived = 0
		return w.alone(), true
	case last:
		c.arrived = 0
		w.step = finishing
		if w.reducer != nil {
			w.step, w.owner = reducing, 0
		}
		start := w.clock.now()
		spentNS = w.crew.run(w, &c.own)
		return min(spentNS, w.clock.now()-start), true // an estimate may exceed all of the work
	case w.accumulator != nil && !first && !more:
		w.step = adding
		w.crew.run(w, &c.own)
		w.rest = w.rest[:0]
	}
	return 0, false
}

// alone is the work for a server's only trainer. Nothing is added or copied, so
// there is nothing to gain from blocks.
func (w *chunkWork) alone() (spentNS int64) {
	start := w.clock.now()
	if w.reducer != nil {
		w.reducer.Reduce(w.parts[0], w.parts)
	} else {
		w.accumulator.Finish(w.parts[0])
	}
	return int64(max(0, w.clock.since(start)))
}

func (w *chunkWork) elements() int { return len(w.parts[w.owner]) }

// run works on elements from to to.
func (w *chunkWork) run(own *worker, from, to int) {
	for from < to {
		end := min(from+comm.BlockElements, to)
		w.block(own, from, end)
		from = end
	}
}

// block takes a block through all steps. The meter of own is for the server's Finish or
// Reduce alone: not for additions, and not for the copies that are answers.
func (w *chunkWork) block(own *worker, from, to int) {
	answer := w.parts[w.owner][from:to]
	if w.step == reducing {
		for t, p := range w.parts {
			own.parts[t] = p[from:to]
		}
	} else {
		for _, p := range w.rest {
			w.accumulator.Accumulate(answer, p[from:to])
		}
	}
	if w.step == adding {
		return
	}
	timed, start := own.meter.next(to-from), int64(0)
	if timed {
		start = w.clock.now()
	}
	if w.step == reducing {
		w.reducer.Reduce(answer, own.parts)
	} else {
		w.accumulator.Finish(answer)
	}
	if timed {
		own.meter.add(w.clock.since(start))
	}
	if w.spread {
		for t, p := range w.parts {
			if t != w.owner {
				copy(p[from:to], answer)
			}
		}
	}
}

// note tells the server how long its calls for a bucket took.
func (r *reduction) note(key sdk.Key, startNS, endNS int64) {
	if r.reducer != nil {
		r.reducer.Reduced(key, startNS, endNS)
	} else {
		r.accumulator.Finished(key, startNS, endNS)
	}
}
