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

// bucket is one bucket of gradients on a server: the batches that are in flight there, and
// what is measured of them.
type bucket struct {
	index            int
	trainers         int
	asynchronous     bool // a push is answered whether others have come or not
	fetches          bool // batch 0 is: it holds no gradient and fetches parameters
	straggler, whole *sdk.Series
	slots            []slot         // by trainer; where the server takes pushes itself
	takenNS          []atomic.Int64 // by trainer, as slots: since when a push of it is in Receive; 0: none is
	chunks           []chunk        // where the host reduces them

	mu sync.Mutex
	// rounds holds the batches that are not fully answered; an asynchronous server has none.
	// A synchronous server has two for a moment: a trainer that has its answer pushes the
	// next batch while the others still get theirs.
	rounds []*round
}

// round is one batch of one bucket. Arrivals and answers are counted in chunks; a
// push that comes whole is one chunk.
type round struct {
	open              bool
	batch             int64
	chunks            int   // of each push
	from              []int // chunks that arrived, by trainer
	arrived, answered int
	openedNS          int64 // when the first chunk arrived
	complete          int   // trainers all of whose chunks arrived
	firstNS, lastNS   int64 // when the first and the last of them were complete

	// Where the host reduces: chunks that are reduced, since when, and how long the
	// server's own calls took, in ns.
	reduced             int
	reducingNS, spentNS int64
}

// handle takes a push, or a chunk of one, from the port.
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

// reduce takes a chunk into its reduction and, with the last one, answers all
// trainers. It holds the chunk until then: a trainer that has its answer may push
// the next batch while the others still get theirs.
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

// answerAll answers a chunk to all trainers, last to the one in whose gradient the
// answer is: once answered, it may overwrite that.
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

// noteArrival returns the round of an arrival.
func (b *bucket) noteArrival(a *comm.Arrival) *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.join(a)
}

// join takes an arrival into its round; b.mu is held.
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

// round finds the round of the arrival's batch or opens one.
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

// missing are the trainers not all of whose chunks arrived.
func (r *round) missing() (trainers []int) {
	for t, n := range r.from {
		if n < r.chunks {
			trainers = append(trainers, t)
		}
	}
	return trainers
}

// noteReduced notes that a chunk was reduced. With the last one it is true, and the
// round knows since when and how long.
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

// noteAnswers notes that some chunks were answered.
func (b *bucket) noteAnswers(r *round, chunks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.answered += chunks; r.answered == b.trainers*r.chunks {
		b.whole.Record(b.key(r), r.firstNS, comm.Now())
		r.open = false
	}
}

// unanswered says that some pushes have no answer yet.
func (b *bucket) unanswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.slots, func(s slot) bool { return s.pending }) ||
		slices.ContainsFunc(b.rounds, func(r *round) bool { return r.open && r.answered < r.arrived })
}

// reset forgets the pass.
func (b *bucket) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rounds = nil
	for t := range b.slots {
		b.slots[t].reset()
	}
}

// overdue returns the trainers (by position) for which a bucket has waited longer than
// waitNS at nowNS, and since which batch.
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
