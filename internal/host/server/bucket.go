package server

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// bucket is one bucket of gradients on a server, with its batches in flight and its measurements.
type bucket struct {
	index            int
	trainers         int
	asynchronous     bool // the server may answer a push before other trainers push
	fetches          bool // batch 0 holds no gradient; it fetches the parameters
	straggler, whole *sdk.Series
	slots            []slot         // by trainer; only if the server takes pushes itself
	takenNS          []atomic.Int64 // by trainer, like slots: start of its push's Receive; 0 outside Receive
	chunks           []chunk        // only if the host reduces the pushes

	mu sync.Mutex
	// rounds holds the batches that are not fully answered. An asynchronous server has no rounds. A
	// synchronous server may briefly have two: a trainer that has its answer pushes the next batch
	// while others still wait for their answers.
	rounds []*round
}

// round is one batch of one bucket. Arrivals and answers are counted in chunks. A push that arrives
// whole counts as one chunk.
type round struct {
	open              bool
	batch             int64
	chunks            int   // chunks per push
	from              []int // arrived chunks, by trainer
	arrived, answered int
	openedNS          int64 // arrival of the first chunk
	complete          int   // number of trainers whose chunks have all arrived
	firstNS, lastNS   int64 // when the first and the last trainer were complete

	// The next fields are used if the host reduces: the number of reduced chunks, the start of the
	// reduction in ns, and the ns in the server's own methods.
	reduced             int
	reducingNS, spentNS int64
}

// handle takes a push, or a chunk of a push, from the port.
func (r *Role) handle(a *comm.Arrival) error {
	if !r.Working.TryRLock() {
		return r.Over()
	}
	defer r.Working.RUnlock()
	b := &r.buckets[a.Bucket]
	if b.chunks == nil {
		return r.receive(b, a)
	}
	return r.reduce(b, b.noteArrival(a), a)
}

// reduce adds a chunk to its reduction. After the last one, reduce answers all trainers. reduce
// locks the chunk until then, because a trainer that has its answer may push the next batch while
// others still wait for their answers.
func (r *Role) reduce(b *bucket, round *round, a *comm.Arrival) error {
	c := &b.chunks[a.Chunk]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arrived > 0 && c.batch != a.Batch {
		return fmt.Errorf(
			"%s pushed %s to %s while batch %d is being reduced: trainers must push the same batches in the same order",
			r.trainers[a.Trainer].Name, describeBucket(a.Batch, a.Bucket), r.Name(), c.batch)
	}
	c.batch = a.Batch
	startNS := comm.Now()
	spentNS, last, err := c.add(a)
	if err != nil || !last {
		return err
	}
	if b.noteReduced(round, startNS, spentNS) {
		r.reduction.computed.Record(b.key(round), round.reducingNS, round.reducingNS+round.spentNS)
	}
	return r.answerAll(b, round, c)
}

// answerAll answers a chunk to all trainers. The answer lies in one trainer's gradient, and that
// trainer comes last, because it may overwrite the gradient once answered.
func (r *Role) answerAll(b *bucket, round *round, c *chunk) error {
	r.answering.RLock()
	defer r.answering.RUnlock()
	last := c.blocks.owner
	for t, a := range c.arrivals {
		if t == last {
			continue
		}
		if err := a.Answer(c.answerTo(t)); err != nil {
			return err
		}
	}
	if err := c.arrivals[last].Answer(c.answerTo(last)); err != nil {
		return err
	}
	b.noteAnswers(round, b.trainers)
	return nil
}

func (b *bucket) key(r *round) sdk.Key { return sdk.Key{A: r.batch, B: int64(b.index)} }

// noteArrival adds an arrival to its round and returns the round.
func (b *bucket) noteArrival(a *comm.Arrival) *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.join(a)
}

// join adds an arrival to its round. The caller holds b.mu.
func (b *bucket) join(a *comm.Arrival) *round {
	r := b.round(a)
	r.arrived++
	r.from[a.Trainer]++
	if r.from[a.Trainer] < r.chunks {
		return r
	}
	if r.complete++; r.complete == 1 {
		r.firstNS, r.lastNS = a.AtNS, a.AtNS
	}
	r.firstNS, r.lastNS = min(r.firstNS, a.AtNS), max(r.lastNS, a.AtNS)
	if r.complete == b.trainers {
		b.straggler.Record(b.key(r), r.firstNS, r.lastNS)
	}
	return r
}

// round returns the round of the arrival's batch, or opens one.
func (b *bucket) round(a *comm.Arrival) *round {
	var free *round
	for _, r := range b.rounds {
		if r.open && r.batch == a.Batch && r.from[a.Trainer] < r.chunks {
			return r
		}
		if !r.open {
			free = r
		}
	}
	if free == nil {
		free = &round{from: make([]int, b.trainers)}
		b.rounds = append(b.rounds, free)
	}
	clear(free.from)
	*free = round{open: true, batch: a.Batch, chunks: a.Chunks, openedNS: a.AtNS, from: free.from}
	return free
}

// missing returns the trainers with missing chunks.
func (r *round) missing() (trainers []int) {
	for t, n := range r.from {
		if n < r.chunks {
			trainers = append(trainers, t)
		}
	}
	return trainers
}

// noteReduced records that a chunk was reduced. noteReduced returns true for the last chunk; the
// round then has the start and duration of the reduction.
func (b *bucket) noteReduced(r *round, startNS, spentNS int64) (all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.reduced++; r.reduced == 1 {
		r.reducingNS = startNS
	}
	r.reducingNS = min(r.reducingNS, startNS)
	r.spentNS += spentNS
	return r.reduced == r.chunks
}

// noteAnswers records that some chunks were answered.
func (b *bucket) noteAnswers(r *round, chunks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.answered += chunks; r.answered == b.trainers*r.chunks {
		b.whole.Record(b.key(r), r.firstNS, comm.Now())
		r.open = false
	}
}

// unanswered reports whether any push has no answer so far.
func (b *bucket) unanswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.slots, func(s slot) bool { return s.pending }) ||
		slices.ContainsFunc(b.rounds, func(r *round) bool { return r.open && r.answered < r.arrived })
}

// reset clears the state of the pass.
func (b *bucket) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rounds = nil
	for t := range b.slots {
		b.slots[t].reset()
	}
}

// overdue returns the trainers (by position) for which a bucket has waited longer than waitNS at
// nowNS, and the batch since which the bucket has waited.
func (b *bucket) overdue(nowNS, waitNS int64) (missing []int, batch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slots != nil {
		return b.overduePushes(nowNS, waitNS)
	}
	for _, r := range b.rounds {
		awaited := r.open && r.answered < r.arrived && r.complete < b.trainers
		if !awaited || nowNS-r.openedNS < waitNS {
			continue
		}
		return r.missing(), r.batch
	}
	return nil, 0
}

func describeBucket(batch int64, bucket int) string {
	return "batch " + strconv.FormatInt(batch, 10) + ", bucket " + strconv.Itoa(bucket)
}
