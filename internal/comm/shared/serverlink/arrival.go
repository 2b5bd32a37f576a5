package serverlink

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
)

// arrival is one trainer's slot for one bucket, as the port sees it.
type arrival struct {
	comm.Arrival
	port   *port
	spec   *tensor.BucketSpec
	line   *layout.PushLine
	bell   shm.Bell
	places [2]*tensor.Bucket // the trainer's bucket in each place
	lent   *tensor.Bucket    // the bucket in device memory; nil if it cannot be there
	bucket *tensor.Bucket    // the bucket of the current push
	seen   uint32            // sequence of the last push that was handed over
	pieces *pieces           // nil if pushes never come in pieces
	chunks []*chunk          // nil if pushes are handed over whole
	state  atomic.Int32
}

// States of an arrival.
const (
	answered  int32 = iota // also: never pushed
	pending                // handed over
	answering              // an answer is being written
)

// filled implements slots.
func (p *port) filled() bool {
	for _, t := range p.trainers {
		for _, a := range t.slots {
			if a.line.Pushed.Load() != a.seen {
				return true
			}
		}
	}
	return false
}

// dispatch hands over all pushes that have arrived.
func (p *port) dispatch(handle func(*comm.Arrival) error) (pushes int, err error) {
	for i, t := range p.trainers {
		n, err := p.dispatchFrom(i, t, handle)
		pushes += n
		if err != nil {
			return pushes, err
		}
	}
	return pushes, nil
}

// dispatchFrom hands over a trainer's pushes in the order in which the trainer
// made them. dispatchFrom checks the slots in turn until a whole round finds
// nothing new. If it sees a push before an earlier one, it checks all slots
// once more; by then the earlier push has arrived.
func (p *port) dispatchFrom(i int, t *trainer, handle func(*comm.Arrival) error) (pushes int, err error) {
	looks := len(t.slots)
	for early := false; looks > 0; looks-- {
		a := t.slots[t.at]
		t.at = (t.at + 1) % len(t.slots)
		pushed := a.line.Pushed.Load()
		switch {
		case pushed == a.seen:
			continue
		case a.line.Order == t.pushes:
			if err := a.validate(pushed); err != nil {
				return pushes, err
			}
			t.pushes++
			pushes++
			a.More = p.another(i, (t.at+len(t.slots)-1)%len(t.slots))
			if err := a.handOver(handle); err != nil {
				return pushes, err
			}
			early, looks = false, len(t.slots)+1
		case !early:
			early, looks = true, len(t.slots)+1
		case looks == 1:
			return pushes, fmt.Errorf("%s pushed bucket %d to %s as number %d where number %d is due",
				p.Conns[i].Peer(), a.Bucket, p.Self, a.line.Order, t.pushes)
		}
	}
	return pushes, nil
}

// another reports whether a trainer other than i has a push in its k-th slot
// that was not handed over.
func (p *port) another(i, k int) bool {
	for j, t := range p.trainers {
		if j != i && len(t.slots) > 0 && t.slots[k].line.Pushed.Load() != t.slots[k].seen {
			return true
		}
	}
	return false
}

// validate checks a trainer's data on its push before any code relies on the
// data.
func (a *arrival) validate(pushed uint32) error {
	p, line := a.port, a.line
	if pushed != a.seen+1 || a.state.Load() != answered {
		return fmt.Errorf("%s pushed batch %d, bucket %d to %s before batch %d of that bucket was answered", a.from(),
			line.Batch, a.Bucket, p.Self, a.Batch)
	}
	place, rows := line.Place, int(line.Rows)
	a.Pieces = nil
	switch place {
	case layout.InStore, layout.InCopies:
		a.bucket = a.places[place]
	case layout.OnDevice:
		if a.bucket = a.lent; a.bucket == nil {
			return fmt.Errorf("%s pushed bucket %d to %s from memory of a device, which %s has not imported", a.from(),
				a.Bucket, p.Self, p.Self)
		}
	case layout.InPieces:
		if a.pieces == nil {
			return fmt.Errorf("%s pushed bucket %d to %s in pieces, which %s does not take", a.from(), a.Bucket, p.Self,
				p.Self)
		}
		if err := a.pieces.begin(); err != nil {
			return err
		}
		a.bucket, a.Pieces = a.places[layout.InCopies], a.pieces
	default:
		return fmt.Errorf("%s pushed bucket %d to %s from place %d, which does not exist", a.from(), a.Bucket, p.Self,
			place)
	}
	if a.spec.Sparse {
		if err := a.bucket.TakeRows(rows); err != nil {
			return fmt.Errorf("%s sent to %s: %w", a.from(), p.Self, err)
		}
	}
	a.seen, a.Gradient, a.Batch, a.AtNS = pushed, &a.bucket.Gradient, line.Batch, line.PushedNS
	a.state.Store(pending)
	return nil
}

// from returns the trainer's name.
func (a *arrival) from() string { return a.port.Conns[a.Trainer].Peer() }

// answer implements Arrival.Answer. An answer in place takes two stores and a
// check of the trainer's bell; before them, answer writes the rows of a sparse
// gradient. Any other answer is copied into the trainer's memory.
func (a *arrival) answer(g *tensor.Gradient) error {
	p := a.port
	if p.Ended() {
		return a.refused()
	}
	if err := a.spec.Check(g); err != nil {
		return p.CannotAnswer(a.Trainer, err)
	}
	if !a.state.CompareAndSwap(pending, answering) {
		return p.NotInFlight(a.Bucket, a.Trainer)
	}
	if err := a.give(g); err != nil {
		return p.CannotAnswer(a.Trainer, err)
	}
	a.bucket.ShowRows(g.Rows)
	a.line.Rows = int32(len(g.Rows)) // #nosec G115 -- rows are int32
	a.tell()
	return nil
}

// tell notifies the trainer of its answer.
func (a *arrival) tell() {
	a.line.AnswerNS = comm.Now()
	seen := a.seen
	a.state.Store(answered) // no code touches a after this
	a.line.Answered.Store(seen)
	a.bell.Ring()
}

// give copies g to the place where the trainer reads its answer, unless g
// already lies there.
func (a *arrival) give(g *tensor.Gradient) error {
	switch {
	case a.Pieces != nil:
		return a.pieces.giveAll(g)
	case g.SameValues(a.Gradient):
		return nil
	default:
		return a.Gradient.CopyFrom(g)
	}
}

// refused returns the error for an answer on a port that has ended.
func (a *arrival) refused() error {
	p := a.port
	if err := p.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s cannot answer batch %d, bucket %d of %s: the port is closed", p.Self, a.Batch, a.Bucket,
		a.from())
}
