package protocol

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// lasting is a group whose averages take some time.
type lasting struct {
	links
	lasts func() time.Duration
}

func (l *lasting) Average(batch int64, b *tensor.Bucket) *comm.Future {
	l.note("average %d %d", batch, b.Index)
	p := comm.NewPromise(nil)
	p.Begin()
	if d := l.lasts(); d > 0 {
		time.AfterFunc(d, func() { p.Complete(nil) })
	} else {
		p.Complete(nil)
	}
	return p.Future()
}

// askTwice requests two averages of each bucket.
func askTwice(p *protocoltest.Part, f wire.Header) error {
	ask := wire.Header{Op: opAverage, Batch: f.Batch, Bucket: f.Bucket}
	if f.Op == opEnded {
		ask.Flags = flagLast
	}
	return p.Send(ask)
}

// Each reduction ends, whether one or several goroutines wait for the buckets, in any order.
func TestWaitersInAnyOrder(t *testing.T) {
	folder := t.TempDir()
	const buckets = 4
	h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8, 8, 8, 8), askTwice)
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- a test
	var mu sync.Mutex
	h.Join(sdk.Links{Group: &lasting{lasts: func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.IntN(3)) * 50 * time.Microsecond
	}}})
	for batch := range 200 {
		var futures []*comm.Future
		for b := range buckets {
			futures = append(futures, h.Reduce(at(batch), store.Buckets[b]))
		}
		switch batch % 3 {
		case 1:
			slices.Reverse(futures)
		case 2:
			var all sync.WaitGroup
			for _, f := range futures {
				all.Go(func() { _ = f.Wait() })
			}
			all.Wait()
		}
		for b, f := range futures {
			if err := f.Wait(); err != nil {
				t.Fatalf("batch %d, future %d: %v", batch, b, err)
			}
		}
	}
}

// A waiter may read the link for one bucket and then wait for that bucket's long operation.
// Meanwhile, the operations of other buckets still start. At the end, the waiter learns that the
// part has failed meanwhile.
func TestWaitingForOneBucketLeavesTheLinkFree(t *testing.T) {
	folder := t.TempDir()
	h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8, 8),
		func(p *protocoltest.Part, f wire.Header) error {
			if err := p.Send(wire.Header{Op: opAverage, Flags: flagLast, Batch: f.Batch,
				Bucket: f.Bucket}); err != nil ||
				f.Bucket == 0 {
				return err
			}
			return p.Send(wire.Header{Op: opFailed}, []byte("no more")...)
		})
	driven, second := false, make(chan struct{})
	h.Join(sdk.Links{Group: &lasting{lasts: func() time.Duration {
		switch {
		case driven:
			close(second)
			return 0
		case h.driven == nil: // the link's reader was reading
			return 0
		}
		driven = true
		go h.Reduce(at(1000), store.Buckets[1])
		return 5 * soon
	}}})
	for batch := 0; !driven; batch++ {
		if batch == 1000 {
			t.Fatal("who waited never read")
		}
		err := h.Reduce(at(batch), store.Buckets[0]).Wait()
		if driven && (err == nil || err.Error() != "trainer0.part: no more") {
			t.Errorf("it ended with %v", err)
		}
	}
	select {
	case <-second:
	default:
		t.Error("the second operation has not begun when the first had ended")
	}
}
