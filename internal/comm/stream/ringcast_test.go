package stream

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestRingBroadcasts(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		rapid.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(1, 5).Draw(t, "size")
			specs := []tensor.BucketSpec{
				commtest.DenseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
				commtest.DenseSpec(1, rapid.IntRange(0, 3*ringBlock).Draw(t, "many")),
				commtest.SparseSpec(2, 50, rapid.IntRange(1, 3000).Draw(t, "width"), 50),
			}
			rings := newRings(t, n, size, linktest.Patience, linktest.Same(specs...))
			linktest.RequireBroadcasts(t, rings, specs, 2, filled(t, specs))
		})
	})
}

// TestRingBarrier checks that no member leaves a barrier before every member
// has reached it.
func TestRingBarrier(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for size := 1; size <= 5; size++ {
			rings := newRings(t, n, size, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 100)))
			linktest.RequireBarriers(t, rings, 50,
				func(int) *tensor.Bucket { return tensor.NewBucket(commtest.DenseSpec(0, 100)) })
		}
	})
}

func TestRingMisuse(t *testing.T) {
	spec := commtest.DenseSpec(0, 3)
	rings := newRings(t, wire.Unix, 2, linktest.Patience, linktest.Same(spec))
	for _, root := range []int{-1, 2} {
		t.Run(fmt.Sprint(root), func(t *testing.T) {
			if err := rings[0].Broadcast(0, tensor.NewBucket(spec), root).Wait(); err == nil ||
				!strings.Contains(err.Error(), "its ring has positions 0 to 1") {
				t.Errorf("a broadcast from position %d gave %v", root, err)
			}
		})
	}
	if err := rings[0].AllReduce(0, tensor.NewBucket(commtest.DenseSpec(1, 0))).Wait(); err == nil ||
		!strings.Contains(err.Error(), "does not carry bucket 1") {
		t.Errorf("a bucket of another ring gave %v", err)
	}
	first := make(chan error)
	go func() { first <- rings[0].Barrier() }()
	for rings[0].Awaited() == rings[0].Idle {
		time.Sleep(time.Millisecond)
	}
	if err := rings[0].Barrier(); err == nil ||
		err.Error() != "trainer0 started barrier 1 on its ring while the last one is in flight" {
		t.Errorf("a second barrier gave %v", err)
	}
	commtest.Must(t, rings[1].Barrier())
	commtest.Must(t, <-first)
}

// TestRingTellsOperationsApart makes two members run different operations.
func TestRingTellsOperationsApart(t *testing.T) {
	spec := commtest.DenseSpec(0, 3)
	reduce := func(r *ring) error { return r.AllReduce(0, tensor.NewBucket(spec)).Wait() }
	average := func(r *ring) error { return r.Average(0, tensor.NewBucket(spec)).Wait() }
	cast := func(root int) func(r *ring) error {
		return func(r *ring) error { return r.Broadcast(0, tensor.NewBucket(spec), root).Wait() }
	}
	for want, run := range map[string][2]func(*ring) error{
		"ranks must agree on the operation":                           {reduce, cast(0)},
		"disagree whether batch 0, bucket 0 is an average or a sum":   {reduce, average},
		"step 0.2 of batch 0, bucket 0 but trainer0 sent":             {cast(0), cast(2)},
		"trainer1 runs barrier 0 but trainer0 sent batch 0, bucket 0": {reduce, (*ring).Barrier},
	} {
		rings := newRings(t, wire.Unix, 3, linktest.Patience, linktest.Same(spec))
		second := make(chan error)
		go func() { second <- run[1](rings[1]) }()
		time.AfterFunc(50*time.Millisecond, rings[2].hangUp) // trainer2 does not take part
		both := errors.Join(run[0](rings[0]), <-second)
		if both == nil || !strings.Contains(both.Error(), want) {
			t.Errorf("different operations gave %v, want %q", both, want)
		}
	}
}

func TestRingBadDays(t *testing.T) {
	large := commtest.DenseSpec(0, 16<<20)
	sparse := commtest.SparseSpec(0, 10, 1, 10)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for what, run := range map[string]func(r *ring) error{
			"broadcast":        func(r *ring) error { return r.Broadcast(3, tensor.NewBucket(large), 2).Wait() },
			"sparse broadcast": func(r *ring) error { return r.Broadcast(3, tensor.NewBucket(sparse), 2).Wait() },
			"barrier":          (*ring).Barrier,
		} {
			spec := large
			if strings.HasPrefix(what, "sparse") {
				spec = sparse
			}
			rings := newRings(t, n, 3, 100*time.Millisecond, linktest.Same(spec))
			var wait *comm.WaitError
			if err := run(rings[0]); !errors.As(err, &wait) || wait.For[0] != "trainer2" || wait.Seconds != 0.1 {
				t.Errorf("a %s that trainer2 does not take part in gave %v", what, err)
			}

			rings = newRings(t, n, 3, linktest.Patience, linktest.Same(spec))
			start := time.Now()
			time.AfterFunc(20*time.Millisecond, rings[2].hangUp) // trainer2 dies
			var peer *comm.PeerError
			if err := run(rings[0]); !errors.As(err, &peer) || peer.Peer != "trainer2" {
				t.Errorf("a %s under which trainer2 dies gave %v", what, err)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("noticing took %v", took)
			}

			rings = newRings(t, n, 3, linktest.Patience, linktest.Same(spec))
			commtest.Must(t, rings[1].Close())
			if err := run(rings[1]); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a %s on a closed ring gave %v", what, err)
			}
		}
	})
}

func TestRingBroadcastToNobodyEndsAtTheDeadline(t *testing.T) {
	large := commtest.DenseSpec(0, 16<<20)
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		rings := newRings(t, n, 3, 100*time.Millisecond, linktest.Same(large))
		var wait *comm.WaitError
		if err := rings[0].Broadcast(3, tensor.NewBucket(large), 0).Wait(); !errors.As(err, &wait) ||
			wait.For[0] != "trainer1" || wait.What != "room for a part of batch 3, bucket 0" {
			t.Errorf("a broadcast that nobody takes gave %v", err)
		}
	})
}
