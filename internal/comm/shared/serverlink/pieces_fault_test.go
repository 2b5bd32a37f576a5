package serverlink

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// At any point of a push in pieces, the end of either side ends the push with
// one error, with or without a waiter. Afterwards no goroutine touches the
// gradient.
func TestSharedPiecesEndInTheMiddle(t *testing.T) {
	for name, end := range map[string]func(h *star) error{
		"trainer dies":   func(h *star) error { return h.links[0].client.conn.Close() },
		"server dies":    func(h *star) error { return h.port.Conns[0].Close() },
		"trainer closes": func(h *star) error { return h.links[0].Close() },
		"server closes":  func(h *star) error { return h.port.Close() },
	} {
		for _, waits := range []bool{true, false} {
			inTime := linktest.InTime(name)
			s := newSummer(1)
			s.pause = 3 * time.Millisecond
			h := newStarOf(t, 1, large[:2], linktest.Patience, true, s.handle)
			own := []*tensor.Bucket{sharedtest.BucketOf(h.stores[0], 0, true),
				sharedtest.BucketOf(h.stores[0], 1, true)}
			futures := []*comm.Future{h.links[0].PushPull(7, own[0]), h.links[0].PushPull(7, own[1])}
			errs := make([]error, 2)
			var waiting sync.WaitGroup
			wait := func() {
				for k := range futures {
					waiting.Go(func() { errs[k] = futures[k].Wait() })
				}
			}
			if waits {
				wait()
			}
			for h.links[0].pushes[0].pieces.line.Given.Load() < 2 {
				time.Sleep(time.Millisecond)
			}
			_ = end(h)
			if !waits {
				wait()
			}
			waiting.Wait()
			for k, err := range errs {
				var peer *comm.PeerError
				if !errors.As(err, &peer) && !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s, waits %v: bucket %d gave %v", name, waits, k, err)
				}
			}
			for k := range own {
				own[k].Gradient.Values[0]++ // the race detector reports if a goroutine still moves pieces
			}
			if err := <-h.served; err != nil && !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("%s, waits %v: serve gave %v", name, waits, err)
			}
			h.close()
			inTime()
		}
	}
}

// If a trainer stops between two pieces, the error names it.
func TestSharedPortNamesTheTrainerWhosePieceIsLate(t *testing.T) {
	h := newStarOf(t, 2, large[:1], 300*time.Millisecond, true, newSummer(2).handle)
	stopped := h.links[1]
	stopped.mover.carrying.Lock() // stops the trainer's mover
	for i, l := range h.links {
		_ = l.PushPull(4, sharedtest.BucketOf(h.stores[i], 0, true))
	}
	const want = "server9 waited 0.3 s for piece 2 of batch 4, bucket 0 from trainer1"
	if err := <-h.served; err == nil || err.Error() != want {
		t.Errorf("serve gave %v", err)
	}
	stopped.mover.carrying.Unlock()
}

// If a trainer closes its link in order before its push is over, the error
// names it.
func TestSharedPortNamesTheTrainerThatLeavesItsPieces(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, newSummer(1).handle)
	l := h.links[0]
	l.pushes[0].line.Place = layout.InPieces
	l.pushes[0].line.Pushed.Add(1)
	l.client.server.Ring()
	commtest.Must(t, l.Close()) // the trainer believes that nothing is pending
	var peer *comm.PeerError
	if err := <-h.served; !errors.As(err, &peer) || peer.Peer != "trainer0" ||
		!strings.Contains(err.Error(), "piece 0 of batch 0, bucket 0") {
		t.Errorf("serve gave %v", err)
	}
}

// The port checks a trainer's data on pieces.
func TestSharedPortRefusesPieces(t *testing.T) {
	for _, c := range []struct {
		inPieces bool
		bucket   int
	}{{false, 0}, {true, 2}, {true, 3}} {
		t.Run(fmt.Sprint(c.bucket), func(t *testing.T) {
			h := newStarOf(t, 1, large, linktest.Patience, c.inPieces, quick)
			line := h.links[0].pushes[c.bucket].line
			line.Place = layout.InPieces
			line.Pushed.Add(1)
			h.links[0].client.server.Ring()
			if err := <-h.served; err == nil ||
				!strings.Contains(err.Error(), "in pieces, which server9 does not take") {
				t.Errorf("bucket %d, taking pieces %v: serve gave %v", c.bucket, c.inPieces, err)
			}
		})
	}
}

// A server may falsely claim to have answered or given something. The link then
// times out or accepts the claim, but touches no other memory.
func TestSharedLinkSurvivesLyingServers(t *testing.T) {
	silent := func(*comm.Arrival) error { return nil }
	h := newStarOf(t, 1, large[:1], 300*time.Millisecond, true, silent)
	p := h.links[0].pushes[0]
	f := h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
	p.line.Answered.Store(1)
	p.pieces.line.Given.Store(^uint32(0))
	var late *comm.WaitError
	if err := f.Wait(); !errors.As(err, &late) {
		t.Errorf("a server that answers before the pieces gave %v", err)
	}
	h = newStarOf(t, 1, large[:1], linktest.Patience, true, silent)
	p = h.links[0].pushes[0]
	f = h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true))
	p.pieces.line.Given.Store(1000)
	p.line.Answered.Store(1)
	if err := f.Wait(); err != nil || p.pieces.line.Sent.Load() != 8 {
		t.Errorf("a server that gives 1000 pieces gave %v after %d were sent", err, p.pieces.line.Sent.Load())
	}
}

// FuzzSharedPieces runs a trainer whose slots hold arbitrary data that may
// change at any time.
func FuzzSharedPieces(f *testing.F) {
	f.Add(layout.InPieces, uint32(2), uint32(8), uint32(0), int32(0))
	f.Add(layout.InPieces, uint32(0), uint32(1)<<31, uint32(5), int32(-1))
	f.Add(layout.InProcess, uint32(1), ^uint32(0), uint32(0), int32(3))
	f.Fuzz(func(t *testing.T, place int32, sent, next, order uint32, rows int32) {
		defer linktest.InTime("a trainer that writes anything")()
		h := newStarOf(t, 1, large[:2], 500*time.Millisecond, true, newSummer(1).handle)
		p := h.links[0].pushes[1]
		p.line.Place, p.line.Rows, p.line.Order = place, rows, order
		p.pieces.line.Sent.Store(sent)
		p.line.Pushed.Add(1)
		h.links[0].client.server.Ring()
		p.pieces.line.Sent.Store(next)
		for end := time.Now().Add(linktest.Patience); p.line.Answered.Load() == 0; time.Sleep(time.Millisecond) {
			select {
			case err := <-h.served:
				if err == nil || !strings.Contains(err.Error(), "trainer0") {
					t.Fatalf("serve ended with %v, which does not name trainer0", err)
				}
				h.close()
				return
			default:
			}
			if time.Now().After(end) {
				t.Fatal("a push was neither answered nor refused")
			}
		}
		h.close()
	})
}

// When a link ends, pending pushes end only after the current piece has moved;
// then no further piece moves.
func TestSharedPiecesRestAfterTheEnd(t *testing.T) {
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, func(*comm.Arrival) error { return nil })
	l, own := h.links[0], sharedtest.BucketOf(h.stores[0], 0, true)
	f := l.PushPull(0, own)
	l.mover.carrying.Lock() // acts as a goroutine that moves a piece
	l.pushes[0].pieces.line.Given.Store(1)
	l.Fail(errors.New("the end"))
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.client.finish()
	}()
	select {
	case <-finished:
		t.Error("the push has failed while a piece of it is moved")
	case <-time.After(20 * time.Millisecond):
	}
	l.mover.carrying.Unlock()
	<-finished
	if err := f.Wait(); err == nil || err.Error() != "the end" {
		t.Errorf("the push gave %v", err)
	}
	own.Gradient.Values[0] = 42
	if l.mover.carry(); own.Gradient.Values[0] != 42 {
		t.Error("a piece was moved after the end")
	}
}
