package shared

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/internal/linktest"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
)

// needsReach skips a test where the kernel lets no process reach another's memory.
func needsReach(t *testing.T) {
	t.Helper()
	commtest.NeedsKernel(t, "process_vm_readv")
	p, err := shm.OpenProcess(unix.Getpid())
	commtest.Must(t, err)
	defer func() { _ = p.Close() }()
	var line layout.ProbeLine
	mine := newProbe(1, &line)
	if err := p.Read(make([]byte, 4), line.Address); err != nil {
		t.Skipf("the kernel does not allow it: %v", err)
	}
	runtime.KeepAlive(mine)
}

// joined are groups that know who reaches whom: a barrier is behind all of set-up.
func joined(t commtest.TB, size int, specs []tensor.BucketSpec) []*group {
	t.Helper()
	groups := newGroups(t, size, linktest.Patience, linktest.Same(specs...))
	line := linktest.NewTogether(size, func(i int) error { return groups[i].Barrier() })
	defer line.Close()
	line.Round(t)
	return groups
}

// Wherever the gradients of members are, and whether the kernel lets members reach each
// other's memory or not, sums and means have the bits that they have in place.
func TestSharedSumsHaveTheBitsOfInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "members")
		elements := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 4096, 4097, 3 * directElements}), rapid.IntRange(0, 4*directElements))
		var specs []tensor.BucketSpec
		for k := range rapid.IntRange(1, 4).Draw(t, "buckets") {
			specs = append(specs, commtest.DenseSpec(k, elements.Draw(t, "elements")))
		}
		groups := joined(t, size, specs)
		for i, g := range groups {
			if rapid.IntRange(0, 9).Draw(t, "reach") == 0 {
				atomic.StoreUint32(&g.probe[(i+1)%size], 0)
			}
		}
		average, seed := rapid.Bool().Draw(t, "average"), rapid.Uint32().Draw(t, "seed")
		var want []*tensor.Bucket
		for batch := range int64(3) {
			var futures []*comm.Future
			var all [][]*tensor.Bucket
			for i, g := range groups {
				all = append(all, nil)
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
			if batch == 0 { // all of them in place
				for k, spec := range specs {
					want = append(want, tensor.NewBucket(spec))
					commtest.Must(t, want[k].Gradient.CopyFrom(&all[0][k].Gradient))
				}
			}
			for i := range groups {
				for k := range specs {
					commtest.RequireSame(t, &all[i][k].Gradient, &want[k].Gradient)
				}
			}
		}
	})
}

// A gradient outside the store stays where it is, and nothing is made of the copies.
func TestSharedSumWorksInTheProcess(t *testing.T) {
	needsReach(t)
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 100_000)}
	groups := joined(t, 3, specs)
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
}

// A member that dies in any phase of a sum is named, the others' futures end, and the
// memory that somebody may still write to is kept.
func TestSharedDirectSumNoticesADeadMember(t *testing.T) {
	needsReach(t)
	const elements = 1 << 20
	dead := exec.CommandContext(t.Context(), "true")
	commtest.Must(t, dead.Start())
	ended, err := shm.OpenProcess(dead.Process.Pid)
	commtest.Must(t, err)
	commtest.Must(t, dead.Wait())
	const whileRead = "while it is read"
	for phase, die := range map[string]func(groups []*group){
		"before it posts": func(groups []*group) { groups[1].hangUp() },
		"once it has posted": func(groups []*group) {
			groups[1].driving.Lock() // so that it does no part of the sum
			_ = groups[1].AllReduce(0, groups[1].bucket(0, true))
			groups[1].hangUp()
			time.AfterFunc(100*time.Millisecond, groups[1].driving.Unlock)
		},
		whileRead: func(groups []*group) { _ = groups[1].AllReduce(0, groups[1].bucket(0, true)) },
	} {
		for size := 2; size <= 3; size++ {
			groups := joined(t, size, []tensor.BucketSpec{commtest.DenseSpec(0, elements)})
			if phase == whileRead {
				for _, g := range groups {
					if g != groups[1] {
						commtest.Must(t, g.members[1].process.Close())
						g.members[1].process = ended
					}
				}
			}
			b := groups[0].bucket(0, true)
			f := groups[0].AllReduce(0, b)
			if size == 3 {
				_ = groups[2].AllReduce(0, groups[2].bucket(0, true))
			}
			die(groups)
			var peer *comm.PeerError
			if err := f.Wait(); !errors.As(err, &peer) || peer.Peer != "trainer1" && (size == 2 || peer.Peer != "trainer2") {
				t.Errorf("a member of %d that died %s gave %v", size, phase, err)
			}
			for _, g := range groups {
				commtest.Must(t, g.Close()) // it unmaps nothing, and so leaves ended open
			}
			abandoned.Lock()
			kept := slices.ContainsFunc(abandoned.values, func(values []float32) bool { return &values[0] == &b.Gradient.Values[0] })
			abandoned.Unlock()
			if !kept {
				t.Errorf("the gradient of a sum of %d whose member died %s is not kept", size, phase)
			}
		}
	}
	commtest.Must(t, ended.Close())
}

// What a member posts of a gradient in its process is checked, as is the address by the
// kernel, before and while it is used.
func TestSharedDirectSumRefusesLies(t *testing.T) {
	needsReach(t)
	many, few := commtest.DenseSpec(0, 100_000), commtest.SparseSpec(0, 10, 2, 4)
	for want, c := range map[string]struct {
		kind int32
		spec tensor.BucketSpec
		lie  func(believer *group, line *layout.StepLine)
	}{
		"from its own memory, which trainer1 cannot reach":                                          {stepAllReduce, many, func(g *group, _ *layout.StepLine) { _ = g.members[0].process.Close(); g.members[0].process = nil }},
		"during batch 0, bucket 0: its gradient cannot be read: bad address":                        {stepAllReduce, many, func(_ *group, line *layout.StepLine) { line.Address = 4096 }},
		"posted an all-reduce of bucket 0 to trainer1 from its own memory, which only dense sums":   {stepAllReduce, few, func(*group, *layout.StepLine) {}},
		"posted a broadcast of bucket 0 to trainer1 from its own memory, which only dense sums can": {stepBroadcast, many, func(*group, *layout.StepLine) {}},
	} {
		groups := joined(t, 2, []tensor.BucketSpec{c.spec})
		liar, line := groups[0], groups[0].own.line(1)
		line.Kind, line.Place = c.kind, layout.InProcess
		c.lie(groups[1], line)
		line.Posted.Store(2)
		liar.own.begun.Store(2)
		liar.ring()
		operation := groups[1].AllReduce
		if c.kind == stepBroadcast {
			operation = func(batch int64, b *tensor.Bucket) *comm.Future { return groups[1].Broadcast(batch, b, 0) }
		}
		err := operation(0, groups[1].bucket(0, false)).Wait()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
			t.Errorf("%q: the operation ended with %v", want, err)
		}
	}
}

// Sums of gradients in ordinary memory allocate nothing in the steady state.
func TestSharedSteadyStateInTheProcessDoesNotAllocate(t *testing.T) {
	const ranks = 3
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 100), commtest.DenseSpec(1, 1<<17)}
	groups := joined(t, ranks, specs)
	buckets, batches := make([][]*tensor.Bucket, ranks), make([]int64, ranks)
	for i, g := range groups {
		for k := range specs {
			buckets[i] = append(buckets[i], g.bucket(k, true))
		}
	}
	p := linktest.NewTogether(ranks, func(rank int) error {
		batches[rank]++
		for _, b := range buckets[rank] {
			if err := groups[rank].AllReduce(batches[rank], b).Wait(); err != nil {
				return err
			}
		}
		return nil
	})
	t.Cleanup(p.Close)
	p.Round(t)
	if allocs := testing.AllocsPerRun(50, func() { p.Round(t) }); allocs != 0 {
		t.Errorf("a round allocates %g times, want 0", allocs)
	}
}
