package serverlink

import (
	"errors"
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
	"github.com/psbench/psbench/internal/comm/wire"
)

// star is a server and its trainers, linked through shared memory.
type star struct {
	stores []*comm.Store
	links  []*link
	port   *port
	served chan error
}

func newStar(t commtest.TB, trainers int, specs []tensor.BucketSpec, timeout time.Duration,
	handle func(*comm.Arrival) error) *star {
	t.Helper()
	return newStarOf(t, trainers, specs, timeout, false, handle)
}

func newStarOf(t commtest.TB, trainers int, specs []tensor.BucketSpec, timeout time.Duration, inPieces bool,
	handle func(*comm.Arrival) error) *star {
	t.Helper()
	return newStarOn(t, trainers, specs, timeout, inPieces, nil, func(int, *comm.Store) comm.Device { return nil },
		handle)
}

// newStarOn makes a star whose buckets and server may be on a device. The
// function on moves a trainer's store to the device.
func newStarOn(t commtest.TB, trainers int, specs []tensor.BucketSpec, timeout time.Duration, inPieces bool,
	device comm.Device, on func(trainer int, s *comm.Store) comm.Device, handle func(*comm.Arrival) error) *star {
	t.Helper()
	h := &star{served: make(chan error, 1), links: make([]*link, trainers)}
	near, far := make([]*wire.Conn, trainers), make([]*wire.Conn, trainers)
	for i := range trainers {
		near[i], far[i] = linktest.Link(t, wire.Unix, linktest.Name(i), "server9")
		store, err := layout.NewStore(linktest.Name(i)+" buckets", specs, true)
		commtest.Must(t, err)
		h.stores = append(h.stores, store)
	}
	var joined sync.WaitGroup
	errs := make([]error, trainers)
	for i := range trainers {
		joined.Go(func() { h.links[i], errs[i] = newLink(near[i], h.stores[i], timeout, on(i, h.stores[i])) })
	}
	port, err := newPort(wire.Links{Self: "server9", Conns: far, Timeout: timeout}, specs, inPieces, false, device)
	joined.Wait()
	commtest.Must(t, errors.Join(append(errs, err)...))
	h.port = port
	go func() { h.served <- h.port.Serve(handle) }()
	t.Cleanup(h.close)
	return h
}

// close ends all links and the port that are still open. Closing again does
// nothing.
func (h *star) close() {
	for i, l := range h.links {
		_ = l.Close()
		_ = h.stores[i].Close()
	}
	_ = h.port.Close()
}

func TestSharedPushPullAverages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, rapid.IntRange(0, 5000).Draw(t, "elements")),
			commtest.SparseSpec(1, 40, rapid.IntRange(1, 20).Draw(t, "width"), 40),
		}
		h := newStar(t, trainers, specs, linktest.Patience, linktest.NewAverager(trainers, specs).Handle)
		linktest.RequireMeans(t, h.links, specs, 3, func(trainer, k int) *tensor.Bucket {
			b := sharedtest.BucketOf(h.stores[trainer], k, rapid.Bool().Draw(t, "copied"))
			commtest.Fill(t, b.BucketSpec, &b.Gradient, 10)
			return b
		})
	})
}

// In a push in place, the server works in the trainer's own memory and nothing
// is copied.
func TestSharedPushIsInPlace(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 8)}
	h := newStar(t, 1, specs, linktest.Patience, func(a *comm.Arrival) error {
		for i := range a.Gradient.Values {
			a.Gradient.Values[i]++
		}
		return a.Answer(a.Gradient)
	})
	b := h.stores[0].Buckets[0]
	before := &b.Gradient.Values[0]
	commtest.Must(t, h.links[0].PushPull(0, b).Wait())
	if &b.Gradient.Values[0] != before || b.Gradient.Values[7] != 1 {
		t.Errorf("the gradient moved or is %v", b.Gradient.Values)
	}
	own := tensor.NewBucket(specs[0])
	commtest.Must(t, h.links[0].PushPull(1, own).Wait())
	if own.Gradient.Values[7] != 1 || b.Gradient.Values[7] != 1 {
		t.Errorf("a copied push gave %v and left %v in the store", own.Gradient.Values, b.Gradient.Values)
	}
}

// A future without a waiter ends at the time of the server's answer, not at the
// time of a later check. Such a future does not block the bucket's next push.
func TestSharedAnswerKeepsItsTime(t *testing.T) {
	h := newStar(t, 1, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, linktest.Patience,
		func(a *comm.Arrival) error { return a.Answer(a.Gradient) })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	for h.port.trainers[0].slots[0].line.Answered.Load() != 1 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	looked := comm.Now()
	commtest.Must(t, first.Wait())
	if late := looked - first.EndNS(); late < int64(10*time.Millisecond) {
		t.Errorf("the push ended %d ns before somebody looked, want the time of the answer", late)
	}
	second := h.links[0].PushPull(1, b)
	for h.port.trainers[0].slots[0].line.Answered.Load() != 2 {
		time.Sleep(time.Millisecond)
	}
	commtest.Must(t, h.links[0].PushPull(2, b).Wait())
	commtest.Must(t, second.Wait())
}

// A trainer's pushes are handed over in the order in which it made them, in
// whatever order the port sees them.
func TestSharedPushesKeepTheirOrder(t *testing.T) {
	var specs []tensor.BucketSpec
	for b := range 5 {
		specs = append(specs, commtest.DenseSpec(b, 1))
	}
	var got []int64
	h := newStar(t, 1, specs, linktest.Patience, func(a *comm.Arrival) error {
		got = append(got, a.Batch)
		return a.Answer(a.Gradient)
	})
	const rounds = 2000
	for n := range rounds {
		var futures []*comm.Future
		for k := range specs {
			futures = append(futures,
				h.links[0].PushPull(int64(n*len(specs)+k), h.stores[0].Buckets[(k*(1+n%4)+n)%len(specs)]))
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
	}
	commtest.Must(t, h.links[0].Close())
	commtest.Must(t, <-h.served)
	for i, batch := range got {
		if batch != int64(i) {
			t.Fatalf("push %d came as number %d of %d", batch, i, len(got))
		}
	}
	if len(got) != rounds*len(specs) {
		t.Errorf("%d pushes came", len(got))
	}
}

func TestSharedPushTwiceIsAnError(t *testing.T) {
	held := make(chan *comm.Arrival, 1)
	h := newStar(t, 1, []tensor.BucketSpec{commtest.DenseSpec(0, 8)}, linktest.Patience,
		func(a *comm.Arrival) error { held <- a; return nil })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	if err := h.links[0].PushPull(1, b).Wait(); err == nil ||
		!strings.Contains(err.Error(), "while batch 0 of that bucket is in flight") {
		t.Errorf("a second push gave %v", err)
	}
	a := <-held
	commtest.Must(t, a.Answer(a.Gradient))
	commtest.Must(t, first.Wait())
	if err := a.Answer(a.Gradient); err == nil || !strings.Contains(err.Error(), "has no push of it in flight") {
		t.Errorf("a second answer gave %v", err)
	}
}
