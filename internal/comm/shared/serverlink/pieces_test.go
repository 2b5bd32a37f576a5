package serverlink

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// large has the smallest bucket that goes in pieces, and some larger ones.
var large = []tensor.BucketSpec{
	commtest.DenseSpec(0, layout.PiecesFrom), commtest.DenseSpec(1, layout.PiecesFrom+comm.PieceElements+7),
	commtest.DenseSpec(2, layout.PiecesFrom-1), commtest.SparseSpec(3, 40, 8, 40),
}

// ramp is element i of a trainer's push. The values are small whole numbers, so
// their sums are exact.
func ramp(trainer, bucket, i int) float32 { return float32((i%251)*(trainer+1) + bucket) }

// All trainers get the sum, for pushes from any memory, in any order of pushes
// and waits.
func TestSharedPiecesSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers, buckets := rapid.IntRange(1, 4).Draw(t, "trainers"), rapid.IntRange(1, 4).Draw(t, "buckets")
		var specs []tensor.BucketSpec
		for k := range buckets {
			elements := layout.PiecesFrom +
				rapid.SampledFrom([]int{-1, 0, 1, comm.PieceElements - 1, comm.PieceElements,
					3*comm.PieceElements + 7}).Draw(t, "more")
			specs = append(specs, commtest.DenseSpec(k, elements))
		}
		h := newStarOf(t, trainers, specs, linktest.Patience, true, newSummer(trainers).handle)
		pushOrders, waitOrders, places := make([][]int, trainers), make([][]int, trainers), make([][]bool, trainers)
		for i := range trainers {
			pushOrders[i] = rapid.Permutation(upTo(buckets)).Draw(t, "pushes")
			waitOrders[i] = rapid.Permutation(upTo(buckets)).Draw(t, "waits")
			places[i] = rapid.SliceOfN(rapid.Bool(), buckets, buckets).Draw(t, "copied")
		}
		errs := make([]error, trainers)
		var running sync.WaitGroup
		for i := range trainers {
			running.Go(func() {
				for batch := range int64(2) {
					errs[i] = errors.Join(errs[i],
						h.pushAll(i, trainers, batch, pushOrders[i], waitOrders[i], places[i]))
				}
			})
		}
		running.Wait()
		commtest.Must(t, errors.Join(errs...))
		h.close()
	})
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// pushAll makes a trainer push buckets in one order and wait in another.
func (h *star) pushAll(i, trainers int, batch int64, pushes, waits []int, copied []bool) error {
	own, futures := make([]*tensor.Bucket, len(pushes)), make([]*comm.Future, len(pushes))
	for _, k := range pushes {
		own[k] = sharedtest.BucketOf(h.stores[i], k, copied[k])
		for n := range own[k].Gradient.Values {
			own[k].Gradient.Values[n] = ramp(i, k, n)
		}
		futures[k] = h.links[i].PushPull(batch, own[k])
	}
	for _, k := range waits {
		if err := futures[k].Wait(); err != nil {
			return err
		}
		for n, got := range own[k].Gradient.Values {
			want := float32(0)
			for t := range trainers {
				want += ramp(t, k, n)
			}
			if got != want {
				return fmt.Errorf("trainer %d, batch %d, bucket %d: element %d is %v, want %v", i, batch, k, n, got,
					want)
			}
		}
	}
	return nil
}

// Only the expected pushes come in pieces. Pushes in pieces use no shared
// memory other than the slots.
func TestSharedPushGoesInPieces(t *testing.T) {
	for _, inPieces := range []bool{true, false} {
		t.Run(fmt.Sprint(inPieces), func(t *testing.T) {
			var got []int
			h := newStarOf(t, 1, large, linktest.Patience, inPieces, func(a *comm.Arrival) error {
				if a.Pieces != nil {
					got = append(got, a.Bucket)
				}
				return quick(a)
			})
			for _, copied := range []bool{true, false} {
				for k := range large {
					b := sharedtest.BucketOf(h.stores[0], k, copied)
					commtest.Noise(uint32(k), b.Gradient.Values)
					want := slices.Clone(b.Gradient.Values)
					commtest.Must(t, h.links[0].PushPull(0, b).Wait())
					if !slices.Equal(b.Gradient.Values, want) {
						t.Errorf("bucket %d came back otherwise", k)
					}
				}
			}
			var want []int
			if inPieces {
				want = []int{0, 1} // not those from the store
				behind := h.links[0].client.copies.Buckets[1].Gradient.Values[layout.PieceSlots*comm.PieceElements:]
				if i := slices.IndexFunc(behind, func(v float32) bool { return v != 0 }); i >= 0 {
					t.Errorf("element %d behind the slots is %v", i, behind[i])
				}
			}
			commtest.Must(t, h.links[0].Close())
			commtest.Must(t, <-h.served)
			if !slices.Equal(got, want) {
				t.Errorf("taking pieces %v: buckets %v came in pieces, want %v", inPieces, got, want)
			}
		})
	}
}

// No push waits for another push's pieces. A future's end time is when its last
// piece was taken, even if a waiter checks later.
func TestSharedPiecesBlockNoPush(t *testing.T) {
	release := make(chan struct{})
	h := newStarOf(t, 1, large[:3], linktest.Patience, true, func(a *comm.Arrival) error {
		<-release
		err := giveBack(a)
		time.Sleep(5 * time.Millisecond) // the mover has nothing more to do then
		return errors.Join(err, a.Answer(a.Gradient))
	})
	var futures []*comm.Future
	inTime := linktest.InTime("pushes whose server is busy")
	for k := range 3 {
		futures = append(futures, h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], k, true)))
	}
	inTime()
	close(release)
	for !h.links[0].pushes[1].answered() || !h.links[0].pushes[2].answered() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(30 * time.Millisecond)
	looked := comm.Now()
	for k := range futures[:2] {
		commtest.Must(t, futures[k].Wait())
		if late := looked - futures[k].EndNS(); late < int64(10*time.Millisecond) {
			t.Errorf("push %d ended %d ns before somebody looked", k, late)
		}
	}
	commtest.Must(t, futures[2].Wait())
}

// Several goroutines may wait, for one push and for others. Each answer meets
// the deadline of its own push.
func TestSharedPiecesManyWaiters(t *testing.T) {
	s := newSummer(1)
	s.pause = 5 * time.Millisecond
	h := newStarOf(t, 1, large[:2], linktest.Patience, true, s.handle)
	for batch := range int64(3) {
		futures := []*comm.Future{h.links[0].PushPull(batch, sharedtest.BucketOf(h.stores[0], 0, true)),
			h.links[0].PushPull(batch, sharedtest.BucketOf(h.stores[0], 1, true))}
		errs := make([]error, 6)
		var waiting sync.WaitGroup
		for i := range errs {
			waiting.Go(func() { errs[i] = futures[i%2].Wait() })
		}
		waiting.Wait()
		commtest.Must(t, errors.Join(errs...))
	}
}

// A push in pieces has the same deadline as any other push.
func TestSharedPiecesHaveADeadline(t *testing.T) {
	h := newStarOf(t, 1, large[:1], 300*time.Millisecond, true, func(a *comm.Arrival) error {
		piece, err := a.Pieces.Fetch()
		return errors.Join(err, a.Pieces.Give(piece))
	})
	const want = "trainer0 waited 0.3 s for the answer to batch 0, bucket 0 from server9"
	if err := h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true)).Wait(); err == nil ||
		err.Error() != want {
		t.Errorf("a server that answers one piece gave %v", err)
	}
}

// Pushes in pieces allocate nothing in the steady state, whether the trainer
// waits at once or later.
func TestSharedPiecesDoNotAllocate(t *testing.T) {
	h := newStarOf(t, 1, large[:2], linktest.Patience, true, quick)
	own := []*tensor.Bucket{sharedtest.BucketOf(h.stores[0], 0, true), sharedtest.BucketOf(h.stores[0], 1, true)}
	batch := int64(0)
	push := func() {
		batch++
		first, second := h.links[0].PushPull(batch, own[0]), h.links[0].PushPull(batch, own[1])
		commtest.Must(t, second.Wait())
		commtest.Must(t, first.Wait())
	}
	push()
	if allocs := testing.AllocsPerRun(50, push); allocs != 0 {
		t.Errorf("a push allocates %g times, want 0", allocs)
	}
}

// The piece counters may wrap.
func TestSharedPieceCountsWrap(t *testing.T) {
	start := ^uint32(0) - 11
	h := newStarOf(t, 1, large[:1], linktest.Patience, true, func(a *comm.Arrival) error {
		if a.Batch == 0 {
			a.Pieces.(*pieces).passed = start
		}
		return quick(a)
	})
	p := h.links[0].pushes[0]
	p.pieces.passed = start
	p.pieces.line.Given.Store(start)
	b := sharedtest.BucketOf(h.stores[0], 0, true)
	for batch := range int64(4) {
		b.Gradient.Values[layout.PiecesFrom-1] = float32(batch)
		commtest.Must(t, h.links[0].PushPull(batch, b).Wait())
	}
	if got := p.pieces.line.Given.Load(); got-start != 32 {
		t.Errorf("%d pieces were given, want 32", got-start)
	}
}

// A server may answer with its own gradient, but an answer with missing pieces
// is an error.
func TestSharedPiecesTakeAnyAnswer(t *testing.T) {
	answer := tensor.NewGradient(large[1])
	commtest.Noise(2, answer.Values)
	h := newStarOf(t, 1, large[:2], linktest.Patience, true, func(a *comm.Arrival) error {
		if a.Bucket == 0 {
			return a.Answer(a.Gradient)
		}
		return a.Answer(&answer)
	})
	own := sharedtest.BucketOf(h.stores[0], 1, true)
	commtest.Must(t, h.links[0].PushPull(0, own).Wait())
	commtest.RequireSame(t, &own.Gradient, &answer)
	_ = h.links[0].PushPull(0, sharedtest.BucketOf(h.stores[0], 0, true)).Wait()
	const want = "server9 cannot answer trainer0: 0 of 8 pieces of its answer were given"
	if err := <-h.served; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an answer without pieces gave %v", err)
	}
}
