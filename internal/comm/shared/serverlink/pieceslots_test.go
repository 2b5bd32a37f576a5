package serverlink

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// use makes the link use this number of slots but announce the number said.
func (l *link) use(slots int, said uint32) {
	for _, p := range l.pushes {
		if p.pieces != nil {
			p.pieces.slots = slots
			p.pieces.line.Slots.Store(said)
		}
	}
}

// For any number of slots and pieces, neither side waits forever, whether the
// server or the trainers are slow.
func TestSharedPieceSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers, buckets := rapid.IntRange(1, 4).Draw(t, "trainers"), rapid.IntRange(1, 2).Draw(t, "buckets")
		var specs []tensor.BucketSpec
		for k := range buckets {
			pieces := rapid.SampledFrom([]int{8, 9, 11, 12, 16, 17, 33}).Draw(t, "pieces")
			missing := 0
			if pieces > 8 {
				missing = rapid.SampledFrom([]int{0, 1, comm.PieceElements - 1}).Draw(t, "missing")
			}
			specs = append(specs, commtest.DenseSpec(k, pieces*comm.PieceElements-missing))
		}
		s := newSummer(trainers)
		s.pause = rapid.SampledFrom([]time.Duration{0, 100 * time.Microsecond}).Draw(t, "pause")
		h := newStarOf(t, trainers, specs, linktest.Patience, true, s.handle)
		for i, l := range h.links {
			switch rapid.SampledFrom([]string{"all", "fewest", "fewer"}).Draw(t, linktest.Name(i)) {
			case "fewest":
				l.use(layout.FirstPieces, layout.FirstPieces)
			case "fewer":
				slots := rapid.IntRange(layout.FirstPieces, layout.PieceSlots).Draw(t, "slots")
				l.use(slots, uint32(slots)) // #nosec G115 -- few
			}
		}
		order, errs := rapid.Permutation(upTo(buckets)).Draw(t, "waits"), make([]error, trainers)
		copied := []bool{true, true}[:buckets]
		var running sync.WaitGroup
		for i := range trainers {
			running.Go(func() {
				for batch := range int64(2) {
					errs[i] = errors.Join(errs[i], h.pushAll(i, trainers, batch, upTo(buckets), order, copied))
				}
			})
		}
		running.Wait()
		commtest.Must(t, errors.Join(errs...))
		h.close()
	})
}

// A link announces the number of slots that it uses.
func TestSharedLinkSaysItsSlots(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, quick)
	w := h.links[0].pushes[0].pieces
	if said := w.line.Slots.Load(); w.slots != layout.PieceSlots || said != layout.PieceSlots {
		t.Errorf("the link uses %d slots and says %d, want %d", w.slots, said, layout.PieceSlots)
	}
}

// The port refuses an impossible number of slots.
func TestSharedPortRefusesSlots(t *testing.T) {
	for _, said := range []uint32{0, 1, layout.PieceSlots + 1, ^uint32(0)} {
		t.Run(fmt.Sprint(said), func(t *testing.T) {
			h := newStarOf(t, 1, large[:1], linktest.Patience, true, quick)
			h.links[0].use(layout.FirstPieces, said)
			_ = h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
			want := fmt.Sprintf("trainer0 pushed bucket 0 to server9 through %d slots instead of 2 to 8", said)
			if err := <-h.served; err == nil || err.Error() != want {
				t.Errorf("serve gave %v, want %s", err, want)
			}
		})
	}
}

// If a server takes an answer back, no piece moves.
func TestSharedLinkSurvivesAnswersTakenBack(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, func(*comm.Arrival) error { return nil })
	l, p := h.links[0], h.links[0].pushes[0]
	l.mover.attend() // keeps the mover's goroutine idle
	defer l.mover.leave()
	_ = l.PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
	for p.pieces.room.Load() {
		l.mover.carry()
	}
	if p.passOn() || p.pieces.line.Sent.Load() != 8 {
		t.Errorf("%d pieces were sent", p.pieces.line.Sent.Load())
	}
}

// A goroutine that sleeps for one push also fills the slots of a later push
// without a waiter. The server does not ring for that push's first pieces.
func TestSharedSleeperIsWokenForTheNextPush(t *testing.T) {
	for _, waits := range []bool{true, false} {
		var held *comm.Arrival
		h := newStarOf(t, 1, large[:2], linktest.Patience, true, func(a *comm.Arrival) error {
			if a.Bucket == 0 {
				held = a
				return nil
			}
			return errors.Join(quick(a), quick(held))
		})
		l := h.links[0]
		first := l.PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
		waited := make(chan error, 1)
		wait := func() { waited <- first.Wait() }
		if waits {
			go wait()
		}
		time.Sleep(20 * time.Millisecond) // all pieces are sent, and their goroutine sleeps
		second := l.PushPull(0, sharedtest.BucketOf(h.stores[0], 1, true))
		for end := time.Now().Add(linktest.Patience); !l.pushes[1].answered(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("somebody waits %v: %d pieces are sent", waits, l.pushes[1].pieces.line.Sent.Load())
			}
		}
		if !waits {
			wait()
		}
		commtest.Must(t, <-waited)
		commtest.Must(t, second.Wait())
	}
}
