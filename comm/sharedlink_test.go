package comm

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hall is a server with its trainers' links through shared memory.
type hall struct {
	stores []*Store
	links  []*sharedLink
	port   *sharedPort
	served chan error
}

func newHall(t tb, trainers int, specs []BucketSpec, timeout time.Duration, handle func(*Arrival) error) *hall {
	t.Helper()
	h := &hall{served: make(chan error, 1), links: make([]*sharedLink, trainers)}
	near, far := make([]*Conn, trainers), make([]*Conn, trainers)
	for i := range trainers {
		near[i], far[i] = link(t, Unix, name(i), "server9")
		store, err := NewSharedStore(name(i), specs)
		must(t, err)
		h.stores = append(h.stores, store)
	}
	var joined sync.WaitGroup
	errs := make([]error, trainers)
	for i := range trainers {
		joined.Go(func() { h.links[i], errs[i] = newSharedLink(near[i], h.stores[i], timeout) })
	}
	port, err := newSharedPort("server9", far, specs, timeout)
	joined.Wait()
	must(t, errors.Join(append(errs, err)...))
	h.port = port
	go func() { h.served <- h.port.Serve(handle) }()
	t.Cleanup(func() {
		for i, l := range h.links {
			_ = l.Close()
			_ = h.stores[i].Close()
		}
		_ = h.port.Close()
	})
	return h
}

// place is the bucket of a store, or one of its own on the heap.
func place(s *Store, k int, copied bool) *Bucket {
	if copied {
		return NewBucket(s.Buckets[k].BucketSpec)
	}
	return s.Buckets[k]
}

func TestSharedPushPullAverages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trainers := rapid.IntRange(1, 4).Draw(t, "trainers")
		specs := []BucketSpec{
			denseSpec(0, rapid.IntRange(0, 5000).Draw(t, "elements")),
			sparseSpec(1, 40, rapid.IntRange(1, 20).Draw(t, "width"), 40),
		}
		h := newHall(t, trainers, specs, patience, newAverager(trainers, specs, false).handle)
		for batch := range int64(3) {
			for k, spec := range specs {
				var buckets []*Bucket
				for i := range trainers {
					b := place(h.stores[i], k, rapid.Bool().Draw(t, "copied"))
					fill(t, spec, &b.Gradient, 10)
					buckets = append(buckets, b)
				}
				want := sum(spec, buckets)
				for i := range want {
					want[i] /= float64(trainers)
				}
				var futures []*Future
				for i, b := range buckets {
					futures = append(futures, h.links[i].PushPull(batch, b))
				}
				for i, f := range futures {
					must(t, f.Wait())
					requireNear(t, table(spec, &buckets[i].Gradient), want)
					requireSame(t, &buckets[i].Gradient, &buckets[0].Gradient)
				}
			}
		}
	})
}

// In place the server works in the trainer's own memory and nothing is copied.
func TestSharedPushIsInPlace(t *testing.T) {
	specs := []BucketSpec{denseSpec(0, 8)}
	h := newHall(t, 1, specs, patience, func(a *Arrival) error {
		for i := range a.Gradient.Values {
			a.Gradient.Values[i]++
		}
		return a.Answer(a.Gradient)
	})
	b := h.stores[0].Buckets[0]
	before := &b.Gradient.Values[0]
	must(t, h.links[0].PushPull(0, b).Wait())
	if &b.Gradient.Values[0] != before || b.Gradient.Values[7] != 1 {
		t.Errorf("the gradient moved or is %v", b.Gradient.Values)
	}
	own := NewBucket(specs[0])
	must(t, h.links[0].PushPull(1, own).Wait())
	if own.Gradient.Values[7] != 1 || b.Gradient.Values[7] != 1 {
		t.Errorf("a copied push gave %v and left %v in the store", own.Gradient.Values, b.Gradient.Values)
	}
}

// A future that nobody waits for ends when the server answered, not when somebody
// looks, and does not hold up the bucket's next push.
func TestSharedAnswerKeepsItsTime(t *testing.T) {
	h := newHall(t, 1, []BucketSpec{denseSpec(0, 8)}, patience, func(a *Arrival) error { return a.Answer(a.Gradient) })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	time.Sleep(50 * time.Millisecond)
	looked := Now()
	must(t, first.Wait())
	if late := looked - first.EndNS(); late < int64(10*time.Millisecond) {
		t.Errorf("the push ended %d ns before somebody looked, want the time of the answer", late)
	}
	second := h.links[0].PushPull(1, b)
	for h.port.trainers[0].slots[0].line.answered.Load() != 2 {
		time.Sleep(time.Millisecond)
	}
	must(t, h.links[0].PushPull(2, b).Wait())
	must(t, second.Wait())
}

// Pushes are handed over in the order in which their trainer made them, however the
// port comes across them.
func TestSharedPushesKeepTheirOrder(t *testing.T) {
	var specs []BucketSpec
	for b := range 5 {
		specs = append(specs, denseSpec(b, 1))
	}
	var got []int64
	h := newHall(t, 1, specs, patience, func(a *Arrival) error {
		got = append(got, a.Batch)
		return a.Answer(a.Gradient)
	})
	const rounds = 2000
	for n := range rounds {
		var futures []*Future
		for k := range specs {
			futures = append(futures, h.links[0].PushPull(int64(n*len(specs)+k), h.stores[0].Buckets[(k*(1+n%4)+n)%len(specs)]))
		}
		for _, f := range futures {
			must(t, f.Wait())
		}
	}
	must(t, h.links[0].Close())
	must(t, <-h.served)
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
	held := make(chan *Arrival, 1)
	h := newHall(t, 1, []BucketSpec{denseSpec(0, 8)}, patience, func(a *Arrival) error { held <- a; return nil })
	b := h.stores[0].Buckets[0]
	first := h.links[0].PushPull(0, b)
	if err := h.links[0].PushPull(1, b).Wait(); err == nil || !strings.Contains(err.Error(), "while batch 0 of that bucket is in flight") {
		t.Errorf("a second push gave %v", err)
	}
	a := <-held
	must(t, a.Answer(a.Gradient))
	must(t, first.Wait())
	if err := a.Answer(a.Gradient); err == nil || !strings.Contains(err.Error(), "has no push of it in flight") {
		t.Errorf("a second answer gave %v", err)
	}
}
