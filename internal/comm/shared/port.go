package shared

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// port is the server's side of the push/pull links of its trainers through
// shared memory. It hands over what was pushed in the trainers' own memory.
type port struct {
	server
	trainers []*trainer
	inPieces bool // it hands over large gradients in ordinary memory of the trainers in pieces
	inChunks bool // it hands over dense gradients chunk by chunk
	device   comm.Device
	specs    []tensor.BucketSpec
}

// trainer is what a port knows of one of its trainers.
type trainer struct {
	control *shm.Segment
	stores  []*comm.Store // by place
	bell    shm.Bell
	slots   []*arrival // in the order of the specs
	at      int        // the slot to look at next
	pushes  uint32     // that were handed over
	lent    lent       // its buckets on the device
}

// arrival is the slot of a trainer and bucket as the port sees it.
type arrival struct {
	comm.Arrival
	port   *port
	spec   *tensor.BucketSpec
	line   *layout.PushLine
	bell   shm.Bell
	places [2]*tensor.Bucket // the trainer's bucket in each place
	lent   *tensor.Bucket    // and in the memory of a device; nil where it cannot be there
	bucket *tensor.Bucket    // the one that was pushed
	seen   uint32            // the last push that was handed over
	pieces *pieces           // nil where pushes never come in pieces
	chunks []*chunk          // nil where pushes are handed over whole
	state  atomic.Int32
}

// States of an arrival.
const (
	answered  int32 = iota // or never pushed
	pending                // handed over
	answering              // the answer is being written
)

func newPort(trainers wire.Links, specs []tensor.BucketSpec, inPieces, inChunks bool, device comm.Device) (*port, error) {
	p := &port{
		server: server{Port: op.Port{Links: trainers}, awaits: "a push"}, inPieces: inPieces, inChunks: inChunks, device: device, specs: specs,
	}
	p.some, p.agree = p.anyPush, p.borrow
	for range trainers.Conns {
		p.trainers = append(p.trainers, &trainer{})
	}
	if err := p.open(func(i int, conn *wire.Conn) error { return p.admit(i, conn, specs) }); err != nil {
		for _, t := range p.trainers {
			_ = t.lent.close() // what failed first is told
		}
		p.unmap()
		return nil, err
	}
	return p, nil
}

// admit takes the segments of a trainer and lays the slots over them.
func (p *port) admit(i int, conn *wire.Conn, specs []tensor.BucketSpec) (err error) {
	t := p.trainers[i]
	if t.control, err = conn.ReceiveSegment(layout.PushControlBytes(len(specs)), false); err != nil {
		return err
	}
	for _, place := range []int32{layout.InStore, layout.InCopies} {
		s, err := layout.ReceiveStore(conn, specs, place == layout.InStore)
		if err != nil {
			return err
		}
		t.stores = append(t.stores, s)
	}
	t.bell = layout.BellOf(t.control)
	if p.inPieces {
		layout.PushTerms(t.control).TakesPieces.Store(layout.PieceSlots)
	}
	p.takesLent(t)
	lines, pieceLines := layout.PushLines(t.control, len(specs)), layout.PieceLines(t.control, len(specs))
	for k := range specs {
		a := &arrival{port: p, spec: &specs[k], line: &lines[k], bell: t.bell}
		for place, store := range t.stores {
			a.places[place] = store.Buckets[k]
		}
		a.Arrival = comm.Arrival{Bucket: specs[k].Index, Trainer: i, Chunks: 1, InPlace: true, Answer: a.answer}
		if p.inPieces && layout.GoesInPieces(a.spec) {
			a.pieces = newPieces(a, &pieceLines[k])
		}
		if p.inChunks && !a.spec.Sparse {
			a.chunks = newChunks(a)
		}
		t.slots = append(t.slots, a)
	}
	return nil
}

// Stores implements Port.
func (p *port) Stores(trainer int) []*comm.Store { return p.trainers[trainer].stores }

// Serve implements Port. handle runs on the calling goroutine.
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return p.serve(func() (int, error) { return p.dispatch(handle) })
}

func (p *port) anyPush() bool {
	for _, t := range p.trainers {
		for _, a := range t.slots {
			if a.line.Pushed.Load() != a.seen {
				return true
			}
		}
	}
	return false
}

// dispatch hands over every push that is there.
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

// dispatchFrom hands over a trainer's pushes in the order in which it made them. It
// looks at the slots round and round, until it has found nothing in one round. A
// push that it sees before an earlier one makes it look once more: the earlier one
// is there by then.
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
			return pushes, fmt.Errorf("%s pushed bucket %d to %s as number %d where number %d is due", p.Conns[i].Peer(), a.Bucket, p.Self, a.line.Order, t.pushes)
		}
	}
	return pushes, nil
}

// another says whether a trainer other than i has a push in its k-th slot that was
// not handed over.
func (p *port) another(i, k int) bool {
	for j, t := range p.trainers {
		if j != i && len(t.slots) > 0 && t.slots[k].line.Pushed.Load() != t.slots[k].seen {
			return true
		}
	}
	return false
}

// validate checks what a trainer says of its push before anything relies on it.
func (a *arrival) validate(pushed uint32) error {
	p, line := a.port, a.line
	if pushed != a.seen+1 || a.state.Load() != answered {
		return fmt.Errorf("%s pushed batch %d, bucket %d to %s before batch %d of that bucket was answered", a.from(), line.Batch, a.Bucket, p.Self, a.Batch)
	}
	place, rows := line.Place, int(line.Rows)
	a.Pieces = nil
	switch place {
	case layout.InStore, layout.InCopies:
		a.bucket = a.places[place]
	case layout.OnDevice:
		if a.bucket = a.lent; a.bucket == nil {
			return fmt.Errorf("%s pushed bucket %d to %s from memory of a device, which %s has not imported", a.from(), a.Bucket, p.Self, p.Self)
		}
	case layout.InPieces:
		if a.pieces == nil {
			return fmt.Errorf("%s pushed bucket %d to %s in pieces, which %s does not take", a.from(), a.Bucket, p.Self, p.Self)
		}
		if err := a.pieces.begin(); err != nil {
			return err
		}
		a.bucket, a.Pieces = a.places[layout.InCopies], a.pieces
	default:
		return fmt.Errorf("%s pushed bucket %d to %s from place %d, which does not exist", a.from(), a.Bucket, p.Self, place)
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

// from names the trainer.
func (a *arrival) from() string { return a.port.Conns[a.Trainer].Peer() }

// answer is the arrival's Answer. In place it is two stores and a look at the
// trainer's bell, with the rows of a sparse gradient before them; anything else is
// copied into the trainer's memory.
func (a *arrival) answer(g *tensor.Gradient) error {
	p := a.port
	if p.Ended() {
		return a.refused()
	}
	if err := a.spec.Check(g); err != nil {
		return fmt.Errorf("%s cannot answer %s: %w", p.Self, a.from(), err)
	}
	if !a.state.CompareAndSwap(pending, answering) {
		return fmt.Errorf("%s answered bucket %d to %s, which has no push of it in flight", p.Self, a.Bucket, a.from())
	}
	if err := a.give(g); err != nil {
		return fmt.Errorf("%s cannot answer %s: %w", p.Self, a.from(), err)
	}
	a.bucket.ShowRows(g.Rows)
	a.line.Rows = int32(len(g.Rows)) // #nosec G115 -- rows are int32
	a.tell()
	return nil
}

// tell tells the trainer that its answer is there.
func (a *arrival) tell() {
	a.line.AnswerNS = comm.Now()
	seen := a.seen
	a.state.Store(answered) // nothing of a is touched after it
	a.line.Answered.Store(seen)
	a.bell.Ring()
}

// give makes g what the trainer finds, unless it is that already.
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

// refused is the error of an answer on a port that has ended.
func (a *arrival) refused() error {
	p := a.port
	if err := p.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s cannot answer batch %d, bucket %d of %s: the port is closed", p.Self, a.Batch, a.Bucket, a.from())
}

// Close implements Port.
func (p *port) Close() error {
	for _, t := range p.trainers {
		t.lent.over()
	}
	if p.shut() && p.allAnswered() {
		p.unmap()
	}
	return nil
}

func (p *port) allAnswered() bool {
	for _, t := range p.trainers {
		for _, a := range t.slots {
			if a.state.Load() != answered {
				return false
			}
		}
	}
	return true
}

func (p *port) unmap() {
	for _, t := range p.trainers {
		if t.control != nil {
			_ = t.control.Close()
		}
		for _, s := range t.stores {
			_ = s.Close()
		}
	}
	if p.doorbell != nil {
		_ = p.doorbell.Close()
	}
}
