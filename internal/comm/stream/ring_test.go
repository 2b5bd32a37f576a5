package stream

import (
	"errors"
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

// newRings joins size members; their specs may differ.
func newRings(t commtest.TB, n *wire.Network, size int, timeout time.Duration,
	specs func(member int) []tensor.BucketSpec) []*ring {
	t.Helper()
	conns := make([][]*wire.Conn, size) // by member, then position
	for i := range size {
		conns[i] = make([]*wire.Conn, size)
	}
	for i := range size {
		if next := (i + 1) % size; conns[i][next] == nil && next != i { // two members share one connection
			conns[i][next], conns[next][i] = linktest.Link(t, n, linktest.Name(i), linktest.Name(next))
		}
	}
	var rings []*ring
	for i := range size {
		r := newRing(wire.Links{Self: linktest.Name(i), Conns: conns[i], Timeout: timeout}, i, specs(i))
		t.Cleanup(func() { _ = r.Close() })
		rings = append(rings, r)
	}
	return rings
}

// filled returns a function that draws a member's contents.
func filled(t *rapid.T, specs []tensor.BucketSpec) func(member, k int) *tensor.Bucket {
	return func(_, k int) *tensor.Bucket {
		b := tensor.NewBucket(specs[k])
		commtest.Fill(t, specs[k], &b.Gradient, 20)
		return b
	}
}

func TestRingSums(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		rapid.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(1, 5).Draw(t, "size")
			specs := []tensor.BucketSpec{
				commtest.DenseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
				commtest.DenseSpec(1, rapid.IntRange(0, 4*ringBlock).Draw(t, "many")),
				commtest.SparseSpec(2, 50, rapid.IntRange(1, 300).Draw(t, "width"), 50),
			}
			rings := newRings(t, n, size, linktest.Patience, linktest.Same(specs...))
			linktest.RequireSums(t, rings, specs, 2, filled(t, specs))
			for _, r := range rings {
				commtest.Must(t, r.Close())
			}
		})
	})
}

func TestRingDeadlineNamesThePeer(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for what, elements := range map[string]int{"small": 3, "large": 8 << 20} {
			spec := commtest.DenseSpec(0, elements)
			rings := newRings(t, n, 3, 50*time.Millisecond, linktest.Same(spec))
			var wait *comm.WaitError
			err := rings[0].AllReduce(3, tensor.NewBucket(spec)).Wait()
			if !errors.As(err, &wait) ||
				err.Error() != "trainer0 waited 0.05 s for a part of batch 3, bucket 0 from trainer2" {
				t.Errorf("%s: the deadline gave %v", what, err)
			}
			if again := rings[0].AllReduce(4, tensor.NewBucket(spec)).Wait(); !errors.Is(again, err) {
				t.Errorf("%s: a later operation gave %v", what, again)
			}
		}
	})
}

func TestRingDisagreement(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 20_000), commtest.DenseSpec(1, 20_000)}
		rings := newRings(t, n, 2, linktest.Patience, linktest.Same(specs...))
		f, g := rings[0].AllReduce(3, tensor.NewBucket(specs[1])), rings[1].AllReduce(3, tensor.NewBucket(specs[0]))
		// The first member to notice hangs up, possibly before the other has
		// anything to read.
		disagree := 0
		for i, err := range []error{f.Wait(), g.Wait()} {
			want := []string{
				"trainer0 runs batch 3, bucket 1 but trainer1 sent batch 3, bucket 0: ranks must reduce the same buckets in the same order",
				"trainer1 runs batch 3, bucket 0 but trainer0 sent batch 3, bucket 1: ranks must reduce the same buckets in the same order",
			}[i]
			var peer *comm.PeerError
			switch {
			case err == nil || err.Error() != want && !errors.As(err, &peer):
				t.Errorf("trainer%d says %v, want %q", i, err, want)
			case err.Error() == want:
				disagree++
			}
		}
		if disagree == 0 {
			t.Error("nobody says that the ranks disagree")
		}

		sizes := newRings(t, n, 2, linktest.Patience,
			func(i int) []tensor.BucketSpec { return []tensor.BucketSpec{commtest.DenseSpec(0, 8+2*i)} })
		f, g = sizes[0].AllReduce(0, tensor.NewBucket(commtest.DenseSpec(0, 8))), sizes[1].AllReduce(0,
			tensor.NewBucket(commtest.DenseSpec(0, 10)))
		both := errors.Join(f.Wait(), g.Wait()).Error()
		if !strings.Contains(both, "trainer0 expects 16 bytes of batch 0, bucket 0 but trainer1 sent 20") &&
			!strings.Contains(both, "trainer1 expects 20 bytes of batch 0, bucket 0 but trainer0 sent 16") {
			t.Errorf("different sizes gave %s", both)
		}
	})
}

func TestRingSparseOverflow(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		spec := commtest.SparseSpec(0, 10, 2, 3)
		rings := newRings(t, n, 2, linktest.Patience, linktest.Same(spec))
		var futures []*comm.Future
		for i, r := range rings {
			b := tensor.NewBucket(spec)
			commtest.Must(t, b.Gradient.SetRows(2))
			copy(b.Gradient.Rows, []int32{int32(4 * i), int32(4*i + 1)})
			futures = append(futures, r.AllReduce(0, b))
		}
		for _, f := range futures {
			if err := f.Wait(); err == nil || !strings.Contains(err.Error(), "more rows than its capacity of 3") {
				t.Errorf("an overflow gave %v", err)
			}
		}
	})
}

func TestRingDeathOfAMember(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for what, elements := range map[string]int{"small": 3, "large": 8 << 20} {
			spec := commtest.DenseSpec(0, elements)
			rings := newRings(t, n, 3, linktest.Patience, linktest.Same(spec))
			var futures []*comm.Future
			for _, r := range rings[:2] {
				futures = append(futures, r.AllReduce(0, tensor.NewBucket(spec)))
			}
			start := time.Now()
			rings[2].hangUp()
			for _, f := range futures {
				var peer *comm.PeerError
				if err := f.Wait(); !errors.As(err, &peer) || peer.What == "" {
					t.Errorf("%s: the death of trainer2 gave %v", what, err)
				}
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s: noticing took %v", what, took)
			}
		}
	})
}

func TestRingClose(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		spec := commtest.DenseSpec(0, 3)
		rings := newRings(t, n, 2, linktest.Patience, linktest.Same(spec))
		commtest.Must(t, rings[1].Close())
		commtest.Must(t, rings[1].Close())
		var peer *comm.PeerError
		if err := rings[0].AllReduce(0, tensor.NewBucket(spec)).Wait(); !errors.As(err, &peer) ||
			peer.Peer != "trainer1" {
			t.Errorf("reducing with a member that left gave %v", err)
		}
		if err := rings[1].AllReduce(0, tensor.NewBucket(spec)).Wait(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reducing on a closed ring gave %v", err)
		}

		busy := newRings(t, n, 2, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 8<<20)))
		f := busy[0].AllReduce(0, tensor.NewBucket(commtest.DenseSpec(0, 8<<20)))
		commtest.Must(t, busy[0].Close())
		if err := f.Wait(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closing under an operation gave %v", err)
		}
	})
}
