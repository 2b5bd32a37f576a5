package server

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/sdk"
)

// slot holds a trainer's current push of a bucket to a server that takes pushes itself. A slot
// holds one push at a time. The bucket's mu guards the slot.
type slot struct {
	answer  func(sdk.Push, *tensor.Gradient) error // function that answers the pushes
	arrival *comm.Arrival
	round   *round // nil if the server is asynchronous

	number  int64 // number of the last push
	batch   int64 // batch of the last push; -1 before the first one of a pass
	atNS    int64 // arrival of the last push
	pending bool  // the last push has no answer so far

	over int64 // number of the last push in the previous pass
	last int64 // the trainer's last batch in the pass; math.MaxInt64 if unknown
}

// newSlots makes the slots of a bucket, one per trainer.
func (r *Role) newSlots(b *bucket) []slot {
	slots := make([]slot, b.trainers)
	b.takenNS = make([]atomic.Int64, b.trainers)
	for t := range slots {
		slots[t].answer = func(p sdk.Push, g *tensor.Gradient) error { return r.answer(b, t, p, g) }
		slots[t].reset()
	}
	return slots
}

// reset clears the state of the pass.
func (s *slot) reset() { s.batch, s.over, s.last = -1, s.number, math.MaxInt64 }

// receive hands a push to the server.
func (r *Role) receive(b *bucket, a *comm.Arrival) error {
	p := b.take(a)
	taken := &b.takenNS[a.Trainer]
	taken.Store(comm.Now())
	err := r.server.Receive(p)
	taken.Store(0)
	if err != nil {
		return fault.Of(r.Title(), "Receive of "+describeBucket(p.Batch, p.Bucket), err)
	}
	return nil
}

// take converts an arrival to a push.
func (b *bucket) take(a *comm.Arrival) sdk.Push {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.slots[a.Trainer]
	s.number++
	s.arrival, s.batch, s.atNS, s.pending = a, a.Batch, a.AtNS, true
	if !b.asynchronous {
		s.round = b.join(a)
	}
	return sdk.NewPush(sdk.Push{Batch: a.Batch, Bucket: b.index, Trainer: a.Trainer, Number: s.number,
		Gradient: a.Gradient}, s.answer)
}

// answer sends g to a trainer as the answer to p. An error ends the run even if the server ignores
// it. If the error comes too late for that, Collect returns it.
func (r *Role) answer(b *bucket, trainer int, p sdk.Push, g *tensor.Gradient) error {
	s, err := r.beginAnswer(b, trainer, p, g)
	if err == nil {
		err = r.sendAnswer(b, s, g)
	}
	if err != nil {
		r.fail(err)
	}
	return err
}

// fail is a separate function because its variable is allocated on the heap.
func (r *Role) fail(err error) {
	r.broken.CompareAndSwap(nil, &err)
	r.Fail(err)
}

// beginAnswer records that a trainer's push is being answered. The trainer may push again before the
// sending of the answer returns, so beginAnswer returns a copy of the slot for this push.
func (r *Role) beginAnswer(b *bucket, trainer int, p sdk.Push, g *tensor.Gradient) (slot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.slots[trainer]
	if wrong := r.wrong(b, s, p, g); wrong != "" {
		return slot{},
			&fault.Part{Text: fmt.Sprintf("%s answered %s of %s %s", r.Title(), describeBucket(p.Batch, b.index),
				r.trainers[trainer].Name, wrong)}
	}
	s.pending = false
	return *s, nil
}

// wrong describes the fault of g as the answer to p, or returns "" if g is valid. If the slot holds
// another push than p, then p was answered before: the trainer could not have pushed again
// otherwise. The caller holds b.mu.
func (r *Role) wrong(b *bucket, s *slot, p sdk.Push, g *tensor.Gradient) string {
	switch {
	case p.Number <= s.over:
		return "once more, after the pass of that push was over"
	case p.Number != s.number:
		return fmt.Sprintf("once more, while batch %d is in flight", s.batch)
	case !s.pending:
		return "twice"
	case g == nil:
		return "with no gradient: it is nil"
	case s.round != nil && s.round.complete < b.trainers && (s.batch > 0 || !b.fetches):
		return fmt.Sprintf("before %s had pushed it, which a server must declare (sdk.Asynchronous)",
			comm.JoinNames(r.names(s.round.missing())))
	default:
		return ""
	}
}

func (r *Role) sendAnswer(b *bucket, s slot, g *tensor.Gradient) error {
	r.answering.RLock()
	defer r.answering.RUnlock()
	if err := s.arrival.Answer(g); err != nil {
		return err
	}
	if s.round != nil {
		b.noteAnswers(s.round, 1)
	} else {
		b.whole.Record(sdk.Key{A: s.batch, B: int64(b.index)}, s.atNS, comm.Now())
	}
	return nil
}

// expect stores the last batch of each trainer.
func (b *bucket) expect(last []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.slots {
		b.slots[t].last = last[t]
	}
}

// overduePushes checks how long the oldest push has waited. Only the server knows which trainers
// and batches it waits for, and how many. So overduePushes returns every trainer that has batches
// left and has not pushed since. If there is none, the server itself is late, and the trainers' own
// deadlines report it. The caller holds b.mu.
func (b *bucket) overduePushes(nowNS, waitNS int64) (missing []int, batch int64) {
	var oldest *slot
	for t := range b.slots {
		if s := &b.slots[t]; s.pending && (oldest == nil || s.atNS < oldest.atNS) {
			oldest = s
		}
	}
	if oldest == nil || nowNS-oldest.atNS < waitNS {
		return nil, 0
	}
	for t := range b.slots {
		if s := &b.slots[t]; !s.pending && s.batch < s.last && s.atNS < oldest.atNS {
			missing = append(missing, t)
		}
	}
	return missing, oldest.batch
}
