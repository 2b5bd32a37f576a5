package server

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
)

// bucket is one bucket of gradients on a server: the batches that are in flight there, and
// what is measured of them.
type bucket struct {
	index            int
	trainers         int
	straggler, whole *sdk.Series
	pushes           []pendingPush // by trainer; where the server takes them itself
	chunks           []chunk       // where the host reduces them

	mu sync.Mutex
	// pendingNS is when each trainer's push arrived that has no answer yet, 0 if there
	// is none; where the server takes pushes itself.
	pendingNS []int64
	// rounds holds the batches that are not fully answered. A synchronous
	// server has two for a moment: a trainer that has its answer pushes the
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

// pendingPush is the push that a trainer has in flight of a bucket; it is
// used again for the next one.
type pendingPush struct {
	sdk.Push
	arrival *comm.Arrival
	round   *round
}

// handle takes a push, or a chunk of one, from the port.
func (r *Role) handle(a *comm.Arrival) error {
	b := &r.buckets[a.Bucket]
	round := b.noteArrival(a)
	if b.chunks != nil {
		return r.reduce(b, round, a)
	}
	batch := a.Batch // the next push overwrites it
	if err := r.server.Receive(&b.pushes[a.Trainer].Push); err != nil {
		return fault.Of(r.Title(), "Receive of "+describeBucket(batch, b.index), err)
	}
	return nil
}

// reduce takes a chunk into its reduction and, with the last one, answers all
// trainers. It holds the chunk until then: a trainer that has its answer may push
// the next batch while the others still get theirs.
func (r *Role) reduce(b *bucket, round *round, a *comm.Arrival) error {
	c := &b.chunks[a.Chunk]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arrived > 0 && c.batch != a.Batch {
		return fmt.Errorf("%s pushed %s to %s while batch %d is being reduced: trainers must push the same batches in the same order",
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

// answer sends g for p. The trainer may push again before Answer returns, so
// what p says must be read first.
func (r *Role) answer(b *bucket, p *pendingPush, g *tensor.Gradient) error {
	round, arrival := b.beginAnswer(p)
	r.answering.RLock()
	defer r.answering.RUnlock()
	if err := arrival.Answer(g); err != nil {
		return err
	}
	b.noteAnswers(round, 1)
	return nil
}

func (b *bucket) key(r *round) sdk.Key { return sdk.Key{A: r.batch, B: int64(b.index)} }

// noteArrival returns the round of an arrival.
func (b *bucket) noteArrival(a *comm.Arrival) *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.round(a)
	r.arrived++
	r.from[a.Trainer]++
	if b.pushes != nil {
		p := &b.pushes[a.Trainer]
		p.Batch, p.Gradient, p.arrival, p.round = a.Batch, a.Gradient, a, r
		b.pendingNS[a.Trainer] = a.AtNS
	}
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

// beginAnswer notes that a trainer's push is being answered; it may push again at once.
func (b *bucket) beginAnswer(p *pendingPush) (r *round, a *comm.Arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pendingNS[p.Trainer] = 0
	return p.round, p.arrival
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
	return slices.ContainsFunc(b.rounds, func(r *round) bool { return r.open && r.answered < r.arrived })
}

// overdue says which trainers (by position) a bucket has waited for at nowNS for
// longer than waitNS, and since which batch; nobody if it waits for none.
func (b *bucket) overdue(nowNS, waitNS int64) (missing []int, batch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pushes != nil {
		return b.overduePushes(nowNS, waitNS)
	}
	for _, r := range b.rounds {
		awaited := r.open && r.answered < r.arrived && r.complete < b.trainers
		if !awaited || nowNS-r.openedNS < waitNS {
			continue
		}
		for t, n := range r.from {
			if n < r.chunks {
				missing = append(missing, t)
			}
		}
		return missing, r.batch
	}
	return nil, 0
}

// overduePushes asks how long single pushes have waited: only the server knows which
// others it waits for, or how many, of whatever batch. Any trainer that waits for
// nothing here could be it. If all wait, it is the server itself that is late, and
// their own deadlines will tell.
func (b *bucket) overduePushes(nowNS, waitNS int64) (missing []int, batch int64) {
	late := slices.IndexFunc(b.pendingNS, func(ns int64) bool { return ns != 0 && nowNS-ns >= waitNS })
	if late < 0 {
		return nil, 0
	}
	for t, ns := range b.pendingNS {
		if ns == 0 {
			missing = append(missing, t)
		}
	}
	return missing, b.pushes[late].Batch
}

func describeBucket(batch int64, bucket int) string {
	return "batch " + strconv.FormatInt(batch, 10) + ", bucket " + strconv.Itoa(bucket)
}
