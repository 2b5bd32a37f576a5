package serverlink

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// The server finds lent buckets on the device and answers them in place. A
// bucket's mark is set before the server learns of the push.
func TestPushesOfLentBuckets(t *testing.T) {
	c := &sharedtest.Card{}
	averager := linktest.NewAverager(3, sharedtest.LentSpecs)
	var lent [3][]tensor.Gradient // the buckets' gradients when they were lent
	on := func(i int, s *comm.Store) comm.Device {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.Move(i, s)
		for _, b := range s.Lent {
			lent[i] = append(lent[i], b.Gradient)
		}
		return c
	}
	pushes := 0
	h := newStarOn(t, 3, sharedtest.LentSpecs, linktest.Patience, true, c, on, func(a *comm.Arrival) error {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		pushes++
		if !a.Gradient.SameValues(&lent[a.Trainer][a.Bucket]) || a.Pieces != nil {
			t.Errorf("the push of bucket %d lies elsewhere", a.Bucket)
		}
		if c.Given < pushes {
			t.Errorf("of %d pushes %d were marked", pushes, c.Given)
		}
		return averager.Handle(a)
	})
	for i, l := range h.links {
		if l.Staged(0) != "" || h.port.Staged(i) != "" {
			t.Fatalf("buckets are staged: %s, %s", l.Staged(0), h.port.Staged(i))
		}
	}
	for batch := range int64(3) {
		var futures []*comm.Future
		for i, l := range h.links {
			for _, b := range h.stores[i].Lent {
				c.Draw(b, i)
				futures = append(futures, l.PushPull(batch, b))
			}
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, s := range h.stores {
			for _, b := range s.Lent {
				c.RequireMean(t, linktest.Name(i), b)
			}
		}
	}
}

// If one end cannot share device memory, buckets of the store travel through
// shared memory as usual, and each end says why.
func TestBucketsThatAreNotLent(t *testing.T) {
	none := func(int, *comm.Store) comm.Device { return nil }
	for _, c := range []struct {
		name            string
		at              *sharedtest.Card // nil: the server has no card
		on              func(int, *comm.Store) comm.Device
		trainer, server string
	}{
		{"no server on a device", nil, (&sharedtest.Card{}).Move, "server9 takes no buckets in device memory",
			"the server takes no buckets in device memory"},
		{"no trainers on one", &sharedtest.Card{}, none, "its own memory is not shared", "it does not share its own"},
		{"another device", &sharedtest.Card{Refuse: "they are apart"}, (&sharedtest.Card{}).Move,
			"trainer0 and server9: they are apart", "they are apart"},
		{"an importing trainer that fails", sharedtest.CardElsewhere(), (&sharedtest.Card{Refuse: "no room"}).Move,
			"trainer0 and server9: no room", ""},
		{"a server whose device is not shared", &sharedtest.Card{Apart: errors.New("it is broken")},
			(&sharedtest.Card{}).Move, "trainer0 and server9: it is broken", "it is broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var device comm.Device
			if c.at != nil {
				device = c.at
			}
			h := newStarOn(t, 1, sharedtest.LentSpecs, linktest.Patience, false, device, c.on,
				linktest.NewAverager(1, sharedtest.LentSpecs).Handle)
			if got := h.links[0].Staged(0); got != c.trainer {
				t.Errorf("the trainer says %q, want %q", got, c.trainer)
			}
			if got := h.port.Staged(0); got != c.server {
				t.Errorf("the server says %q, want %q", got, c.server)
			}
			commtest.Must(t, h.links[0].PushPull(0, h.stores[0].Buckets[1]).Wait())
		})
	}
}

// An owner waits until its peers have closed their imports of its buckets, and
// names the peers that have not.
func TestOwnersWaitForTheReturn(t *testing.T) {
	c := &sharedtest.Card{}
	h := newStarOn(t, 1, sharedtest.LentSpecs, linktest.Patience, false, c, c.Move,
		linktest.NewAverager(1, sharedtest.LentSpecs).Handle)
	err := h.links[0].Release(20 * time.Millisecond)
	if want := "trainer0 waited 0.02 s for the end of their use of its buckets on the device from server9"; fmt.Sprint(
		err) != want {
		t.Fatalf("it gives %v, want %s", err, want)
	}
	released := make(chan error, 1)
	go func() { released <- h.links[0].Release(linktest.Patience) }()
	commtest.Must(t, h.port.Release(linktest.Patience))
	commtest.Must(t, <-released)
	for _, e := range c.Ends {
		if !e.Closed {
			t.Error("an end is not closed")
		}
	}
}

// An owner does not wait for a peer that is gone.
func TestNobodyWaitsForTheDead(t *testing.T) {
	c := &sharedtest.Card{}
	h := newStarOn(t, 1, sharedtest.LentSpecs, linktest.Patience, false, c, c.Move,
		linktest.NewAverager(1, sharedtest.LentSpecs).Handle)
	h.port.Fail(errors.New("it dies"))
	commtest.Must(t, h.links[0].Release(linktest.Patience))
}

// The port refuses a push from a device whose buckets it has not imported.
func TestPushesFromElsewhere(t *testing.T) {
	c := &sharedtest.Card{}
	h := newStarOn(t, 1, sharedtest.LentSpecs, linktest.Patience, false, nil, c.Move,
		linktest.NewAverager(1, sharedtest.LentSpecs).Handle)
	h.links[0].pushes[1].Lent = h.stores[0].Lent[1]
	_ = h.links[0].PushPull(0, h.stores[0].Lent[1]).Wait()
	if err := <-h.served; err == nil ||
		err.Error() != "trainer0 pushed bucket 1 to server9 from memory of a device, which server9 has not imported" {
		t.Errorf("the server says %v", err)
	}
}
