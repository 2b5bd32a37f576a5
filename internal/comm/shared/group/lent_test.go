package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

func TestGroupsOfLentBuckets(t *testing.T) {
	c := &sharedtest.Card{}
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), c.Move)
	lent := func(g *group) []*tensor.Bucket { return g.own.stores[0].Lent }
	for batch := range int64(3) {
		var futures []*comm.Future
		for i, g := range groups {
			for _, b := range lent(g) {
				c.Draw(b, i)
				futures = append(futures, g.Average(batch, b))
			}
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, g := range groups {
			for _, b := range lent(g) {
				c.RequireMean(t, linktest.Name(i), b)
			}
		}
	}
	err := groups[0].Broadcast(3, lent(groups[0])[1], 0).Wait()
	if want :=
		"trainer0, batch 3, bucket 1: a broadcast cannot be carried out in the memory of a device: only sums can"; err == nil ||
		err.Error() != want {
		t.Errorf("a broadcast gives %v, want %s", err, want)
	}
}

// A member copies the sum of rows into its bucket only after all others have
// read the bucket's rows.
func TestRowsAreTakenOnceAllHaveSummedThem(t *testing.T) {
	c := &sharedtest.Card{Late: 10 * time.Millisecond}
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), c.Move)
	var futures []*comm.Future
	for i, g := range groups {
		b := g.own.stores[0].Lent[2]
		c.Draw(b, i)
		futures = append(futures, g.Average(0, b))
	}
	for _, f := range futures {
		commtest.Must(t, f.Wait())
	}
}

// If only some members have a bucket on the device, the operation fails with an
// error that says so.
func TestGroupsAgreeOnTheirMemory(t *testing.T) {
	c := &sharedtest.Card{}
	groups := newGroupsOn(t, 2, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), c.Move)
	first := groups[0].Average(0, groups[0].own.stores[0].Lent[1])
	second := groups[1].Average(0, groups[1].own.stores[0].Buckets[1])
	err := errors.Join(first.Wait(), second.Wait())
	if want := "have bucket 1 in different memory, one of them on a device: all members must keep it on a device, or none"; err ==
		nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it gives %v, want %s", err, want)
	}
}

// All members make the same decision about the device, and name the member that
// cannot share.
func TestGroupsThatDoNotShare(t *testing.T) {
	for name, c := range map[string]struct {
		on   func(*sharedtest.Card) func(int, *comm.Store) comm.Device
		want string
	}{
		"one lends nothing": {func(c *sharedtest.Card) func(int, *comm.Store) comm.Device {
			return func(i int, s *comm.Store) comm.Device {
				if i == 1 {
					return nil
				}
				return c.Move(i, s)
			}
		}, "trainer1 does not share its device memory"},
		"one is elsewhere": {func(c *sharedtest.Card) func(int, *comm.Store) comm.Device {
			other := &sharedtest.Card{Refuse: "they are apart"}
			return func(i int, s *comm.Store) comm.Device {
				if i == 1 {
					return other.Move(i, s)
				}
				return c.Move(i, s)
			}
		}, "trainer1 and trainer"},
	} {
		t.Run(name, func(t *testing.T) {
			groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(sharedtest.LentSpecs...),
				c.on(sharedtest.CardElsewhere()))
			for i, g := range groups {
				if got := g.Staged(0); !strings.HasPrefix(got, c.want) &&
					(i != 1 || got != "its own memory is not shared") {
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

// An owner waits until the peers that have its buckets open have closed them.
func TestOwnersWaitForTheReturn(t *testing.T) {
	released := make(chan error, 1)
	groups := newGroupsOn(t, 2, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), (&sharedtest.Card{}).Move)
	go func() { released <- groups[0].Release(linktest.Patience) }()
	select {
	case err := <-released:
		t.Fatalf("a member does not wait for the other: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	commtest.Must(t, groups[1].Release(linktest.Patience))
	commtest.Must(t, <-released)
}
