package shared

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
)

// card is a device whose memory is Go's, and on which all is done at once. Its lock stands for the order
// of marks.
type card struct {
	mu     sync.Mutex
	ends   []*cardEnd
	given  int
	refuse string // what Import says
	apart  error  // what Join says
	// late is how much later than the others the first end sums rows.
	late time.Duration
}

// cardEnd implements comm.DeviceEnd. An offer is its number.
type cardEnd struct {
	card   *card
	lent   []*tensor.Bucket
	sum    []float32
	sums   int // of rows
	number int
	closed bool
}

// move gives a store buckets on the device.
func (c *card) move(_ int, s *comm.Store) comm.Device {
	for _, b := range s.Buckets {
		s.Lent = append(s.Lent, tensor.BucketIn(make([]float32, b.Room()), b.Shown, b.BucketSpec))
	}
	return c
}

func (c *card) Join(_ []tensor.BucketSpec, lent []*tensor.Bucket) (comm.DeviceEnd, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apart != nil {
		return nil, c.apart
	}
	e := &cardEnd{card: c, lent: lent, number: len(c.ends)}
	c.ends = append(c.ends, e)
	return e, nil
}

func (e *cardEnd) Offer() []byte { return []byte(strconv.Itoa(e.number)) }

func (e *cardEnd) Import(_ int, offer []byte) (values [][]float32, err error) {
	e.card.mu.Lock()
	defer e.card.mu.Unlock()
	if e.card.refuse != "" {
		return nil, errors.New(e.card.refuse)
	}
	n, err := strconv.Atoi(string(offer))
	if err != nil {
		return nil, err
	}
	for _, b := range e.card.ends[n].lent {
		values = append(values, b.Gradient.Values[:cap(b.Gradient.Values)])
	}
	return values, nil
}

func (e *cardEnd) Give(int) error {
	e.card.mu.Lock()
	defer e.card.mu.Unlock()
	e.card.given++
	return nil
}

func (e *cardEnd) Sum(_ int, parts [][]float32, mean bool) error {
	e.card.mu.Lock()
	defer e.card.mu.Unlock()
	for i := range parts[0] {
		sum := float32(0)
		for _, p := range parts {
			sum += p[i]
		}
		if mean {
			sum /= float32(len(parts))
		}
		for _, p := range parts {
			p[i] = sum
		}
	}
	return nil
}

func (e *cardEnd) SumRows(_ int, gradients []*tensor.Gradient, union []int32, mean bool) error {
	if e.number == 0 {
		time.Sleep(e.card.late)
	}
	e.card.mu.Lock()
	defer e.card.mu.Unlock()
	e.sums++
	e.sum = make([]float32, len(union)*gradients[0].Width)
	for _, g := range gradients {
		for i, row := range g.Rows {
			at := slices.Index(union, row) * g.Width
			for k, v := range g.Values[i*g.Width:][:g.Width] {
				e.sum[at+k] += v
			}
		}
	}
	for i := range e.sum {
		if mean {
			e.sum[i] /= float32(len(gradients))
		}
	}
	return nil
}

func (e *cardEnd) TakeRows(_ int, sum []float32) error {
	e.card.mu.Lock()
	defer e.card.mu.Unlock()
	for _, other := range e.card.ends {
		if other.sums < e.sums {
			return fmt.Errorf("end %d takes rows that end %d has not summed", e.number, other.number)
		}
	}
	copy(sum, e.sum)
	return nil
}

func (e *cardEnd) Close() error {
	e.closed = true
	return nil
}

// cardElsewhere is a card on which some end offers buckets, which one of another card seems to do.
func cardElsewhere() *card {
	c := &card{}
	c.ends = []*cardEnd{{card: c, lent: comm.NewStore(lentSpecs).Buckets}}
	return c
}

// lentSpecs has a bucket that a group would sum from copies, one in slices, and a table.
var lentSpecs = []tensor.BucketSpec{commtest.DenseSpec(0, 7), commtest.DenseSpec(1, 5000), commtest.SparseSpec(2, 40, 3, 40)}

// draw fills a bucket by its rank.
func (c *card) draw(b *tensor.Bucket, rank int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.Sparse {
		_ = b.Gradient.SetRows(2)
		b.Gradient.Rows[0], b.Gradient.Rows[1] = 1, int32(5+rank) // #nosec G115 -- few
	}
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = float32(i + rank)
	}
}

// requireMean requires what three ranks leave.
func (c *card) requireMean(t *testing.T, what string, b *tensor.Bucket) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	want := []float32{1, 2, 3, 4, 5, 6, 7}
	if b.Sparse { // row 1 of all, and rows 5, 6 and 7 of one each
		want = []float32{1, 2, 3, 1, 4. / 3, 5. / 3, 4. / 3, 5. / 3, 2, 5. / 3, 2, 7. / 3}
		if !slices.Equal(b.Gradient.Rows, []int32{1, 5, 6, 7}) {
			t.Fatalf("%s, bucket %d has rows %v", what, b.Index, b.Gradient.Rows)
		}
	}
	for i, w := range want {
		if d := b.Gradient.Values[i] - w; d > 1e-6 || d < -1e-6 {
			t.Fatalf("%s, bucket %d has values %v, want %v", what, b.Index, b.Gradient.Values[:len(want)], want)
		}
	}
}

// What trainers leave on the device their server finds there, marked before it hears of it, and answers in
// place.
func TestPushesOfLentBuckets(t *testing.T) {
	c := &card{}
	averager := linktest.NewAverager(3, lentSpecs)
	var lent [3][]tensor.Gradient // as they were lent
	on := func(i int, s *comm.Store) comm.Device {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.move(i, s)
		for _, b := range s.Lent {
			lent[i] = append(lent[i], b.Gradient)
		}
		return c
	}
	pushes := 0
	h := newStarOn(t, 3, lentSpecs, linktest.Patience, true, c, on, func(a *comm.Arrival) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		pushes++
		if !a.Gradient.SameValues(&lent[a.Trainer][a.Bucket]) || a.Pieces != nil {
			t.Errorf("the push of bucket %d lies elsewhere", a.Bucket)
		}
		if c.given < pushes {
			t.Errorf("of %d pushes %d were marked", pushes, c.given)
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
				c.draw(b, i)
				futures = append(futures, l.PushPull(batch, b))
			}
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, s := range h.stores {
			for _, b := range s.Lent {
				c.requireMean(t, linktest.Name(i), b)
			}
		}
	}
}

func TestGroupsOfLentBuckets(t *testing.T) {
	c := &card{}
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(lentSpecs...), c.move)
	lent := func(g *group) []*tensor.Bucket { return g.own.stores[0].Lent }
	for batch := range int64(3) {
		var futures []*comm.Future
		for i, g := range groups {
			for _, b := range lent(g) {
				c.draw(b, i)
				futures = append(futures, g.Average(batch, b))
			}
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, g := range groups {
			for _, b := range lent(g) {
				c.requireMean(t, linktest.Name(i), b)
			}
		}
	}
	err := groups[0].Broadcast(3, lent(groups[0])[1], 0).Wait()
	if want := "trainer0, batch 3, bucket 1: a broadcast cannot be carried out in the memory of a device: only sums can"; err == nil || err.Error() != want {
		t.Errorf("a broadcast gives %v, want %s", err, want)
	}
}

// Nobody puts the sum of rows into its bucket while another may read what it has there.
func TestRowsAreTakenOnceAllHaveSummedThem(t *testing.T) {
	c := &card{late: 10 * time.Millisecond}
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(lentSpecs...), c.move)
	var futures []*comm.Future
	for i, g := range groups {
		b := g.own.stores[0].Lent[2]
		c.draw(b, i)
		futures = append(futures, g.Average(0, b))
	}
	for _, f := range futures {
		commtest.Must(t, f.Wait())
	}
}

// A member that has its bucket elsewhere than the others is told so.
func TestGroupsAgreeOnTheirMemory(t *testing.T) {
	c := &card{}
	groups := newGroupsOn(t, 2, linktest.Patience, linktest.Same(lentSpecs...), c.move)
	first := groups[0].Average(0, groups[0].own.stores[0].Lent[1])
	second := groups[1].Average(0, groups[1].own.stores[0].Buckets[1])
	err := errors.Join(first.Wait(), second.Wait())
	if want := "have bucket 1 in different memory, of which one is a device's: all must leave it there, or none"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it gives %v, want %s", err, want)
	}
}

// Where not both ends can share, buckets of the store travel as ever, and each end says why.
func TestBucketsThatAreNotLent(t *testing.T) {
	none := func(int, *comm.Store) comm.Device { return nil }
	for _, c := range []struct {
		name            string
		at              *card // nil: the server has none
		on              func(int, *comm.Store) comm.Device
		trainer, server string
	}{
		{"no server on a device", nil, (&card{}).move, "server9 takes no buckets of a device", "the server takes no buckets of a device"},
		{"no trainers on one", &card{}, none, "its own memory is not shared", "it does not share its own"},
		{"another device", &card{refuse: "they are apart"}, (&card{}).move, "trainer0 and server9: they are apart", "they are apart"},
		{"an importing trainer that fails", cardElsewhere(), (&card{refuse: "no room"}).move, "trainer0 and server9: no room", ""},
		{"a server whose device is not shared", &card{apart: errors.New("it is broken")}, (&card{}).move, "trainer0 and server9: it is broken", "it is broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var device comm.Device
			if c.at != nil {
				device = c.at
			}
			h := newStarOn(t, 1, lentSpecs, linktest.Patience, false, device, c.on, linktest.NewAverager(1, lentSpecs).Handle)
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

// All members of a group come to the same: one that cannot share is named.
func TestGroupsThatDoNotShare(t *testing.T) {
	for name, c := range map[string]struct {
		on   func(*card) func(int, *comm.Store) comm.Device
		want string
	}{
		"one lends nothing": {func(c *card) func(int, *comm.Store) comm.Device {
			return func(i int, s *comm.Store) comm.Device {
				if i == 1 {
					return nil
				}
				return c.move(i, s)
			}
		}, "trainer1 does not share its memory of a device"},
		"one is elsewhere": {func(c *card) func(int, *comm.Store) comm.Device {
			other := &card{refuse: "they are apart"}
			return func(i int, s *comm.Store) comm.Device {
				if i == 1 {
					return other.move(i, s)
				}
				return c.move(i, s)
			}
		}, "trainer1 and trainer"},
	} {
		t.Run(name, func(t *testing.T) {
			groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(lentSpecs...), c.on(cardElsewhere()))
			for i, g := range groups {
				if got := g.Staged(0); !strings.HasPrefix(got, c.want) && (i != 1 || got != "its own memory is not shared") {
					t.Errorf("%s says %q, want %q", g.Self, got, c.want)
				}
			}
			var futures []*comm.Future
			for _, g := range groups {
				futures = append(futures, g.Average(0, g.own.stores[0].Buckets[1]))
			}
			for _, f := range futures {
				commtest.Must(t, f.Wait())
			}
		})
	}
}

// An owner waits until those who have its buckets open have closed them, and says who does not.
func TestOwnersWaitForTheReturn(t *testing.T) {
	c := &card{}
	h := newStarOn(t, 1, lentSpecs, linktest.Patience, false, c, c.move, linktest.NewAverager(1, lentSpecs).Handle)
	err := h.links[0].Release(20 * time.Millisecond)
	if want := "trainer0 waited 0.02 s for the end of their use of its buckets on the device from server9"; fmt.Sprint(err) != want {
		t.Fatalf("it gives %v, want %s", err, want)
	}
	released := make(chan error, 1)
	go func() { released <- h.links[0].Release(linktest.Patience) }()
	commtest.Must(t, h.port.Release(linktest.Patience))
	commtest.Must(t, <-released)
	for _, e := range c.ends {
		if !e.closed {
			t.Error("an end is not closed")
		}
	}
	groups := newGroupsOn(t, 2, linktest.Patience, linktest.Same(lentSpecs...), (&card{}).move)
	go func() { released <- groups[0].Release(linktest.Patience) }()
	select {
	case err := <-released:
		t.Fatalf("a member does not wait for the other: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	commtest.Must(t, groups[1].Release(linktest.Patience))
	commtest.Must(t, <-released)
}

// A peer that is gone returns nothing, and nobody waits for it.
func TestNobodyWaitsForTheDead(t *testing.T) {
	c := &card{}
	h := newStarOn(t, 1, lentSpecs, linktest.Patience, false, c, c.move, linktest.NewAverager(1, lentSpecs).Handle)
	h.port.Fail(errors.New("it dies"))
	commtest.Must(t, h.links[0].Release(linktest.Patience))
}

// A push from a device that the server has not imported from is refused.
func TestPushesFromElsewhere(t *testing.T) {
	c := &card{}
	h := newStarOn(t, 1, lentSpecs, linktest.Patience, false, nil, c.move, linktest.NewAverager(1, lentSpecs).Handle)
	h.links[0].pushes[1].Lent = h.stores[0].Lent[1]
	_ = h.links[0].PushPull(0, h.stores[0].Lent[1]).Wait()
	if err := <-h.served; err == nil || err.Error() != "trainer0 pushed bucket 1 to server9 from memory of a device, which server9 has not imported" {
		t.Errorf("the server says %v", err)
	}
}
