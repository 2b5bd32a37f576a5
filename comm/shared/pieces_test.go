package shared

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/internal/linktest"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/tensor"
)

// A server of one trainer gets every element of a large gradient in ordinary memory once, in
// pieces that arrive in order, whatever else is pushed meanwhile; the answers come back in
// place. Pushes of the store stay whole.
func TestSharedPushGoesInPieces(t *testing.T) {
	for n, more := range []int{0, 1, comm.PieceElements - 1, 3*comm.PieceElements + 7} {
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, piecesFrom+more), commtest.DenseSpec(1, piecesFrom-1), commtest.DenseSpec(2, piecesFrom), commtest.SparseSpec(3, 40, 8, 40),
		}
		next := map[int]int{}
		h := newStarOf(t, 1, specs, linktest.Patience, true, func(a *comm.Arrival) error {
			if a.Chunk != next[a.Bucket] || a.Remote != nil {
				return fmt.Errorf("piece %d of bucket %d arrived, want %d", a.Chunk, a.Bucket, next[a.Bucket])
			}
			next[a.Bucket] = (a.Chunk + 1) % a.Chunks
			for i := range a.Gradient.Values {
				a.Gradient.Values[i] *= 2
			}
			return a.Answer(a.Gradient)
		})
		own, want := make([]*tensor.Bucket, len(specs)), make([][]float32, len(specs))
		for k := range specs {
			own[k] = bucketOf(h.stores[0], k, k != n) // one of them from the store
			commtest.Noise(uint32(k), own[k].Gradient.Values)
			want[k] = slices.Clone(own[k].Gradient.Values)
		}
		for batch := range int64(3) {
			futures := make([]*comm.Future, len(specs))
			for k := range specs {
				futures[k] = h.links[0].PushPull(batch, own[k])
			}
			for i := range specs {
				k := (i*3 + int(batch)) % len(specs) // none waits in the order of the pushes
				commtest.Must(t, futures[k].Wait())
				for i := range want[k] {
					want[k][i] *= 2
				}
				if !slices.Equal(own[k].Gradient.Values, want[k]) {
					t.Fatalf("batch %d: bucket %d is not twice what was pushed", batch, k)
				}
			}
		}
	}
}

// wholePieces is a bucket that goes in pieces.
var wholePieces = []tensor.BucketSpec{commtest.DenseSpec(0, piecesFrom)}

// A push in pieces that nobody waits for is carried on by the next push of its bucket, and
// touches no more shared memory than the slots.
func TestSharedPushInPiecesGoesOn(t *testing.T) {
	h := newStarOf(t, 1, wholePieces, linktest.Patience, true, func(a *comm.Arrival) error {
		a.Gradient.Values[0]++
		return a.Answer(a.Gradient)
	})
	own := tensor.NewBucket(wholePieces[0])
	first := h.links[0].PushPull(0, own)
	second := h.links[0].PushPull(1, own)
	commtest.Must(t, first.Wait())
	commtest.Must(t, second.Wait())
	for k := range comm.Pieces(piecesFrom) {
		if got := own.Gradient.Values[k*comm.PieceElements]; got != 2 {
			t.Errorf("piece %d went to the server %v times, want 2", k, got)
		}
	}
	untouched := h.links[0].client.copies.Buckets[0].Gradient.Values[layout.PieceSlots*comm.PieceElements:]
	if i := slices.IndexFunc(untouched, func(v float32) bool { return v != 0 }); i >= 0 {
		t.Errorf("element %d behind the slots is %v", i, untouched[i])
	}
}

// The deadline is one of each piece: a server may take longer for all of them, but not for one.
func TestSharedPushInPiecesHasADeadline(t *testing.T) {
	silent := comm.Pieces(piecesFrom) - 1
	h := newStarOf(t, 1, wholePieces, 300*time.Millisecond, true, func(a *comm.Arrival) error {
		if a.Chunk == silent {
			return nil
		}
		time.Sleep(60 * time.Millisecond)
		return a.Answer(a.Gradient)
	})
	began := time.Now()
	var late *comm.WaitError
	if err := h.links[0].PushPull(0, tensor.NewBucket(wholePieces[0])).Wait(); !errors.As(err, &late) {
		t.Errorf("a server that does not answer the last piece gave %v", err)
	}
	if took := time.Since(began); took < time.Duration(silent)*60*time.Millisecond {
		t.Errorf("the push was given up after %v, before the other pieces were answered", took)
	}
}

// What a trainer says of a piece is checked.
func TestSharedPortRefusesPieces(t *testing.T) {
	for want, lie := range map[string]func(l *link) *layout.PushLine{
		"trainer0 pushed piece 2 of batch 0, bucket 0 to server9 where piece 0 is due": func(l *link) *layout.PushLine {
			l.pushes[0].line.Piece = 2
			return l.pushes[0].line
		},
		"trainer0 pushed piece -1 of batch 0, bucket 0 to server9 where piece 1 is due": func(l *link) *layout.PushLine {
			line := l.pushes[0].passing.lines[1]
			line.Piece = -1
			return line
		},
	} {
		h := newStarOf(t, 1, wholePieces, linktest.Patience, true, func(a *comm.Arrival) error { return a.Answer(a.Gradient) })
		refuses(t, h, want, lie(h.links[0]), layout.InPieces)
	}
	small := newStarOf(t, 1, []tensor.BucketSpec{commtest.DenseSpec(0, piecesFrom-1)}, linktest.Patience, true, nil)
	refuses(t, small, "trainer0 pushed bucket 0 to server9 in pieces, which server9 does not take", small.links[0].pushes[0].line, layout.InPieces)
	two := newStarOf(t, 2, wholePieces, linktest.Patience, true, nil)
	refuses(t, two, "trainer0 pushed bucket 0 to server9 in pieces, which server9 does not take", two.links[0].pushes[0].line, layout.InPieces)
	whole := newStarOf(t, 1, wholePieces, linktest.Patience, true, nil)
	refuses(t, whole, "trainer0 pushed bucket 0 to server9 whole where a piece is due", whole.links[0].pushes[0].passing.lines[1], layout.InStore)
}

// refuses posts a line by hand.
func refuses(t *testing.T, h *star, want string, line *layout.PushLine, place int32) {
	t.Helper()
	line.Place = place
	line.Pushed.Add(1)
	h.links[0].client.server.Ring()
	if err := <-h.served; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: serve gave %v", want, err)
	}
}

// A server cannot answer a piece with anything else than as many values.
func TestSharedPieceIsAnsweredByAPiece(t *testing.T) {
	answer := tensor.NewGradient(wholePieces[0])
	h := newStarOf(t, 1, wholePieces, linktest.Patience, true, func(a *comm.Arrival) error { return a.Answer(&answer) })
	_ = h.links[0].PushPull(0, tensor.NewBucket(wholePieces[0])).Wait()
	if err := <-h.served; err == nil || !strings.Contains(err.Error(), "the answer to a piece has") {
		t.Errorf("serve gave %v", err)
	}
}

// Pushes in pieces allocate nothing in the steady state.
func TestSharedSteadyStateInPiecesDoesNotAllocate(t *testing.T) {
	h := newStarOf(t, 1, wholePieces, linktest.Patience, true, func(a *comm.Arrival) error { return a.Answer(a.Gradient) })
	own, batch := tensor.NewBucket(wholePieces[0]), int64(0)
	push := func() {
		batch++
		commtest.Must(t, h.links[0].PushPull(batch, own).Wait())
	}
	push()
	if allocs := testing.AllocsPerRun(50, push); allocs != 0 {
		t.Errorf("a push allocates %g times, want 0", allocs)
	}
}
