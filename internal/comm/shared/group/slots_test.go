package group

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
)

// Sums and means have exactly the bits of additions in the order of positions.
// The gradients may lie anywhere (in batch 0 all lie in the stores), the last
// chunk may have any size, and members may arrive in any order.
func TestSharedSumsHaveTheBitsOfTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "members")
		turn := size * chunkElements(size)
		elements := rapid.OneOf(
			rapid.SampledFrom([]int{0, 1, 4096, 4097, turn - 1, turn, turn + 1, 2*turn - 1, 2*turn + 1, 3 * turn}),
			rapid.IntRange(0, 4*slotElements))
		var specs []tensor.BucketSpec
		for k := range rapid.IntRange(1, 4).Draw(t, "buckets") {
			specs = append(specs, commtest.DenseSpec(k, elements.Draw(t, "elements")))
		}
		groups := newGroups(t, size, linktest.Patience, linktest.Same(specs...))
		average, seed := rapid.Bool().Draw(t, "average"), rapid.Uint32().Draw(t, "seed")
		var want []*tensor.Bucket
		for k, spec := range specs {
			want = append(want, inOrder(spec, size, average, func(i int) uint32 { return seed + uint32(100*i+k) })) // #nosec G115 -- small
		}
		for batch := range int64(3) {
			var futures []*comm.Future
			all := make([][]*tensor.Bucket, size)
			for _, i := range rapid.Permutation(positions(size)).Draw(t, "order") {
				g := groups[i]
				for k := range specs {
					b := g.bucket(k, batch > 0 && rapid.IntRange(0, 3).Draw(t, "copied") > 0)
					commtest.Noise(seed+uint32(100*i+k), b.Gradient.Values)
					all[i] = append(all[i], b)
					reduce := g.AllReduce
					if average {
						reduce = g.Average
					}
					futures = append(futures, reduce(batch, b))
				}
			}
			for _, f := range futures {
				commtest.Must(t, f.Wait())
			}
			for i := range groups {
				for k := range specs {
					commtest.RequireSame(t, &all[i][k].Gradient, &want[k].Gradient)
				}
			}
		}
	})
}

// inOrder sums gradients of noise in the order of positions, element by
// element.
func inOrder(spec tensor.BucketSpec, size int, average bool, seed func(position int) uint32) *tensor.Bucket {
	sum, one := tensor.NewBucket(spec), tensor.NewBucket(spec)
	for i := range size {
		commtest.Noise(seed(i), one.Gradient.Values)
		for at, v := range one.Gradient.Values {
			if i == 0 {
				sum.Gradient.Values[at] = v
			} else {
				sum.Gradient.Values[at] += v
			}
		}
	}
	if average && size > 1 {
		for at := range sum.Gradient.Values {
			sum.Gradient.Values[at] *= 1 / float32(size)
		}
	}
	return sum
}

func positions(size int) (all []int) {
	for i := range size {
		all = append(all, i)
	}
	return all
}

// A gradient outside the store goes through slots; the copies stay unused.
func TestSharedSumGoesThroughSlots(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 100_000)}
	groups := newGroups(t, 3, linktest.Patience, linktest.Same(specs...))
	for batch := range int64(2) {
		var futures []*comm.Future
		for _, g := range groups {
			futures = append(futures, g.AllReduce(batch, g.bucket(0, g != groups[1])))
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, want := range []int32{layout.InProcess, layout.InStore, layout.InProcess} {
			if got := groups[0].members[i].place; got != want {
				t.Errorf("the gradient of trainer%d was in place %d, want %d", i, got, want)
			}
		}
	}
	for _, g := range groups {
		copies := g.own.stores[layout.InCopies].Buckets[0].Gradient.Values
		if i := slices.IndexFunc(copies, func(v float32) bool { return v != 0 }); i >= 0 {
			t.Errorf("element %d of the copies of %s is %v", i, g.Self, copies[i])
		}
	}
}

// If a member dies in any phase of a sum, the others' futures end with an error
// that names it.
func TestSharedSumThroughSlotsNoticesADeadMember(t *testing.T) {
	for phase, die := range map[string]func(g *group){
		"before it posts": func(g *group) { g.hangUp() },
		"once it has posted": func(g *group) {
			g.driving.Lock() // keeps the group from carrying out the sum
			_ = g.AllReduce(0, g.bucket(0, true))
			g.hangUp()
			time.AfterFunc(100*time.Millisecond, g.driving.Unlock)
		},
		"between two chunks": func(g *group) {
			g.driving.Lock()
			_ = g.AllReduce(0, g.bucket(0, true))
			g.showChunk(g.bucket(0, true).Gradient.Values, 0)
			time.Sleep(50 * time.Millisecond)
			g.hangUp()
			time.AfterFunc(100*time.Millisecond, g.driving.Unlock)
		},
	} {
		t.Run(phase, func(t *testing.T) {
			for size := 2; size <= 3; size++ {
				groups := newGroups(t, size, linktest.Patience, linktest.Same(commtest.DenseSpec(0, 1<<20)))
				f := groups[0].AllReduce(0, groups[0].bucket(0, true))
				if size == 3 {
					_ = groups[2].AllReduce(0, groups[2].bucket(0, true))
				}
				die(groups[1])
				var peer *comm.PeerError
				if err := f.Wait(); !errors.As(err, &peer) ||
					peer.Peer != "trainer1" && (size == 2 || peer.Peer != "trainer2") {
					t.Errorf("a member of %d that died %s gave %v", size, phase, err)
				}
			}
		})
	}
}

// If a member stops filling slots, the deadline names it. If a member closes,
// the sum ends at once.
func TestSharedSumThroughSlotsEndsInTime(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprint(closes), func(t *testing.T) {
			groups := newGroups(t, 2, 400*time.Millisecond, linktest.Same(commtest.DenseSpec(0, 1<<20)))
			slow := groups[1]
			slow.driving.Lock()
			_ = slow.AllReduce(0, slow.bucket(0, true))
			slow.showChunk(slow.bucket(0, true).Gradient.Values, 0)
			f := groups[0].AllReduce(0, groups[0].bucket(0, true))
			if closes {
				slow.driving.Unlock()
				commtest.Must(t, slow.Close())
			}
			err := f.Wait()
			var wait *comm.WaitError
			var peer *comm.PeerError
			switch {
			case closes && err != nil && (!errors.As(err, &peer) || peer.Peer != "trainer1"): // or the sum ended before
				t.Errorf("a member that closed gave %v", err)
			case !closes && (!errors.As(err, &wait) || len(wait.For) != 1 || wait.For[0] != "trainer1"):
				t.Errorf("a member that fills no slot gave %v", err)
			}
			if !closes {
				slow.driving.Unlock()
			}
		})
	}
}

// Only dense sums go through slots.
func TestSharedSumThroughSlotsRefusesLies(t *testing.T) {
	many, few := commtest.DenseSpec(0, 100_000), commtest.SparseSpec(0, 10, 2, 4)
	for want, c := range map[string]struct {
		kind int32
		spec tensor.BucketSpec
	}{
		"posted an all-reduce of bucket 0 to trainer1 from its own memory, which only dense sums": {stepAllReduce,
			few},
		"posted a broadcast of bucket 0 to trainer1 from its own memory, which only dense sums can": {stepBroadcast,
			many},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			groups := newGroups(t, 2, linktest.Patience, linktest.Same(c.spec))
			liar, line := groups[0], groups[0].own.line(0)
			line.Kind, line.Place = c.kind, layout.InProcess
			line.Posted.Store(1)
			liar.own.begun.Store(1)
			liar.ring()
			operation := groups[1].AllReduce
			if c.kind == stepBroadcast {
				operation = func(batch int64, b *tensor.Bucket) *comm.Future { return groups[1].Broadcast(batch, b, 0) }
			}
			err := operation(0, groups[1].bucket(0, false)).Wait()
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("%q: the operation ended with %v", want, err)
			}
		})
	}
}

// Whatever a member writes into its slots during a sum, every sum ends: right,
// wrong or with an error.
func TestSharedSlotsOfALiar(t *testing.T) {
	for range 5 {
		groups := newGroups(t, 2, 300*time.Millisecond, linktest.Same(commtest.DenseSpec(0, 300_000)))
		stop := make(chan struct{})
		var lying sync.WaitGroup
		lying.Go(func() {
			for n := uint32(0); ; n++ {
				select {
				case <-stop:
					return
				default:
					groups[0].own.filled.Store(n * 2654435761)
				}
			}
		})
		for batch := range int64(50) {
			first, second := groups[0].AllReduce(batch, groups[0].bucket(0, true)), groups[1].AllReduce(batch,
				groups[1].bucket(0, true))
			if first.Wait() != nil || second.Wait() != nil {
				break
			}
		}
		close(stop)
		lying.Wait()
	}
}

// Sums of gradients in ordinary memory allocate nothing in the steady state.
func TestSharedSteadyStateThroughSlotsDoesNotAllocate(t *testing.T) {
	const ranks = 3
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 100), commtest.DenseSpec(1, 1<<17)}
	groups := newGroups(t, ranks, linktest.Patience, linktest.Same(specs...))
	buckets := make([][]*tensor.Bucket, ranks)
	for i, g := range groups {
		for k := range specs {
			buckets[i] = append(buckets[i], g.bucket(k, true))
		}
	}
	linktest.RequireNoAllocation(t, ranks, func(rank int, batch int64) error {
		for _, b := range buckets[rank] {
			if err := groups[rank].AllReduce(batch, b).Wait(); err != nil {
				return err
			}
		}
		return nil
	})
}
