package serverlink

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// Pushes make progress without a waiter, as during a backward pass.
func TestSharedPiecesMoveByThemselves(t *testing.T) {
	h := newStarOf(t, 2, large[:2], linktest.Patience, true, newSummer(2).handle)
	own := make([][]*tensor.Bucket, 2)
	for i, l := range h.links {
		for k := range 2 {
			own[i] = append(own[i], sharedtest.BucketOf(h.stores[i], k, true))
			own[i][k].Gradient.Values[layout.PiecesFrom-1] = 1
			_ = l.PushPull(0, own[i][k])
		}
	}
	for i, l := range h.links {
		for k := range 2 {
			p := l.pushes[k]
			for end := time.Now().Add(linktest.Patience); !p.answered(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("trainer %d, bucket %d: nobody waits, and %d of %d pieces are answered", i, k,
						p.pieces.line.Given.Load(), comm.PieceCount(large[k].Elements))
				}
			}
			if got := own[i][k].Gradient.Values[layout.PiecesFrom-1]; got != 2 {
				t.Errorf("trainer %d, bucket %d: the answer is %v", i, k, got)
			}
		}
	}
}

// when is a shm.Condition made from a function.
type when func() bool

func (w when) Met() bool { return w() }

// While a waiter waits for a push, others may see the answer and push the
// bucket again. The waiter then uses the new push's deadline.
func TestSharedWaiterTakesTheNextDeadline(t *testing.T) {
	const timeout = 400 * time.Millisecond
	h := newStarOf(t, 1, large[:1], timeout, true, quick)
	l, b, first := h.links[0], sharedtest.BucketOf(h.stores[0], 0, true), true
	f := l.PushPull(0, b)
	l.client.await(&l.pushes[0].op.Operation, when(func() bool {
		if first { // others act between two checks
			first = false
			commtest.Must(t, f.Wait())
			time.Sleep(timeout / 2)
			l.client.server = l.client.bell // the server does not learn of the next push
			l.pushes[0].line = &layout.PushLine{}
			l.pushes[0].seq.Store(0)
			_ = l.PushPull(1, b)
			time.AfterFunc(3*timeout/4, func() { l.Complete(&l.pushes[0].op.Operation) })
		}
		_, pending := l.Due(&l.pushes[0].op.Operation)
		return !pending
	}))
	if l.Ended() {
		t.Error("the link ended at the deadline of a push that was answered")
	}
}

// After a waiter for one push leaves, the mover carries out the other pushes.
func TestSharedPiecesMoveAfterAWaiterLeft(t *testing.T) {
	release := make(chan struct{})
	h := newStarOf(t, 1, large[:2], linktest.Patience, true, func(a *comm.Arrival) error {
		if a.Bucket == 1 {
			<-release
		}
		return quick(a)
	})
	l := h.links[0]
	first, second := l.PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true)), l.PushPull(0,
		sharedtest.BucketOf(h.stores[0], 1, true))
	commtest.Must(t, first.Wait())
	time.Sleep(20 * time.Millisecond) // the mover has seen that no piece can move
	close(release)
	for end := time.Now().Add(linktest.Patience); !l.pushes[1].answered(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nobody moves it: %d of %d pieces are answered", l.pushes[1].pieces.line.Given.Load(),
				comm.PieceCount(large[1].Elements))
		}
	}
	commtest.Must(t, second.Wait())
}

// A check never misses a push whose last answer has arrived, even while another
// goroutine takes that answer. The server has already rung, and the bell will
// not ring again.
func TestSharedAnswerIsSeenWhileItIsTaken(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, func(*comm.Arrival) error { return nil })
	l, p := h.links[0], h.links[0].pushes[0]
	l.mover.attend() // keeps the mover's goroutine idle
	defer l.mover.leave()
	_ = l.PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
	pieces := uint32(comm.PieceCount(large[0].Elements)) // #nosec G115 -- few
	p.line.Answered.Store(p.seq.Load())
	p.pieces.line.Given.Store(pieces)
	p.pieces.due.Store(pieces)
	p.pieces.room.Store(false)
	const rest, look, over = 0, 1, 2
	var asked, does, unseen atomic.Int32 // request to the checking goroutine, its state, and its misses
	var looking sync.WaitGroup
	looking.Go(func() {
		for asked.Load() != over {
			does.Store(asked.Load())
			if does.Load() == look && !progress.Met(progress{p}) {
				unseen.Add(1)
			}
		}
	})
	ask := func(what int32) {
		for asked.Store(what); does.Load() != what; {
			runtime.Gosched()
		}
	}
	for range 20_000 {
		p.pieces.underway.Store(true)
		ask(look)
		p.pieces.underway.Store(false) // as passOn does
		ask(rest)
	}
	asked.Store(over)
	looking.Wait()
	p.pieces.underway.Store(false)
	if n := unseen.Load(); n > 0 {
		t.Errorf("the answer was missed %d times", n)
	}
}

// Two goroutines wait for one push, and the first to see the answer pushes
// again.
func TestSharedWaiterIsOvertaken(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, quick)
	l, b := h.links[0], sharedtest.BucketOf(h.stores[0], 0, true)
	var overtaken sync.WaitGroup
	for batch := range int64(50) {
		f := l.PushPull(batch, b)
		overtaken.Go(func() { _ = f.Wait() })
		commtest.Must(t, f.Wait())
	}
	overtaken.Wait()
}
