package group

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/shared/sharedtest"
)

// bridge is a fake library that spans several cards, with one end of a group on
// each card. A sum waits on the bridge for all ends. If an end is aborted, its
// sum ends at once.
type bridge struct {
	mu    sync.Mutex
	moved sync.Cond
	ends  int
	met   map[int][][]float32 // by bucket: the members' inputs to the current sum
	sums  map[int]int         // by bucket: number of sums that have ended
}

func newBridge() *bridge {
	b := &bridge{met: map[int][][]float32{}, sums: map[int]int{}}
	b.moved.L = &b.mu
	return b
}

// move moves a store's buckets to a card of its own.
func (b *bridge) move(i int, s *comm.Store) comm.Device {
	return bridged{(&sharedtest.Card{}).Move(i, s).(*sharedtest.Card), b}
}

// bridged is a card that the bridge connects to others.
type bridged struct {
	*sharedtest.Card
	bridge *bridge
}

func (bridged) Library() string { return "bridge 1" }

func (d bridged) Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (comm.DeviceEnd, error) {
	e, err := d.Card.Join(specs, lent)
	if err != nil {
		return nil, err
	}
	return &bridgeEnd{CardEnd: e.(*sharedtest.CardEnd), bridge: d.bridge}, nil
}

type bridgeEnd struct {
	*sharedtest.CardEnd
	bridge *bridge
	down   bool
}

func (*bridgeEnd) Import(int, []byte) ([][]float32, error) { return nil, nil }

func (e *bridgeEnd) Span(members []string, _ int, _ time.Duration) error {
	e.bridge.mu.Lock()
	defer e.bridge.mu.Unlock()
	e.bridge.ends = len(members)
	return nil
}

func (e *bridgeEnd) Abort() {
	e.bridge.mu.Lock()
	defer e.bridge.mu.Unlock()
	e.down = true
	e.bridge.moved.Broadcast()
}

// meet sums values over all members; the last member to arrive does the work.
func (e *bridgeEnd) meet(bucket int, values []float32, mean bool) error {
	b := e.bridge
	b.mu.Lock()
	defer b.mu.Unlock()
	turn := b.sums[bucket]
	b.met[bucket] = append(b.met[bucket], values)
	b.moved.Broadcast()
	if parts := b.met[bucket]; len(parts) == b.ends {
		_ = (&sharedtest.CardEnd{Card: &sharedtest.Card{}}).Sum(bucket, parts, mean)
		b.met[bucket] = nil
		b.sums[bucket]++
		b.moved.Broadcast()
	}
	for b.sums[bucket] == turn {
		if e.down {
			return errors.New("the bridge is down")
		}
		b.moved.Wait()
	}
	return nil
}

func (e *bridgeEnd) Sum(bucket int, parts [][]float32, mean bool) error {
	if len(parts) != 1 {
		return errors.New("more than the own part is given")
	}
	return e.meet(bucket, parts[0], mean)
}

func (e *bridgeEnd) SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error {
	if len(gradients) != 1 {
		return errors.New("more than the own gradient is given")
	}
	if err := e.CardEnd.SumRows(bucket, gradients, union, false); err != nil {
		return err
	}
	return e.meet(bucket, e.Total, mean)
}

// Members with buckets on separate cards sum them through the library that
// spans the cards.
func TestGroupsAcrossDevices(t *testing.T) {
	b := newBridge()
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), b.move)
	c := &sharedtest.Card{}
	for batch := range int64(3) {
		var futures []*comm.Future
		for i, g := range groups {
			if g.Staged(0) != "" || g.Library() != "bridge 1" {
				t.Fatalf("%s stages %q, by %q", g.Self, g.Staged(0), g.Library())
			}
			for _, b := range g.own.stores[0].Lent {
				c.Draw(b, i)
				futures = append(futures, g.Average(batch, b))
			}
		}
		for _, f := range futures {
			commtest.Must(t, f.Wait())
		}
		for i, g := range groups {
			for _, b := range g.own.stores[0].Lent {
				c.RequireMean(t, linktest.Name(i), b)
			}
		}
	}
}

// If a member is gone, or the group is closed, the group's work on the devices
// ends.
func TestGroupsAcrossDevicesAreAborted(t *testing.T) {
	for name, end := range map[string]func(g *group){
		"gone":   func(g *group) { _ = g.conns[0].Close() },
		"closed": func(g *group) { _ = g.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge()
			groups := newGroupsOn(t, 2, linktest.Patience, linktest.Same(sharedtest.LentSpecs...), b.move)
			b.mu.Lock()
			b.ends = 3 // one more than there are, so no sum ends
			b.mu.Unlock()
			var futures []*comm.Future
			for _, g := range groups {
				futures = append(futures, g.Average(0, g.own.stores[0].Lent[1]))
			}
			b.mu.Lock()
			for len(b.met[1]) < len(groups) { // wait until both are on the bridge
				b.moved.Wait()
			}
			b.mu.Unlock()
			end(groups[1])
			for _, f := range futures {
				if err := f.Wait(); err == nil {
					t.Error("a sum ends without error")
				}
			}
		})
	}
}

// If one member lends nothing, all members stage their buckets and do not use
// the library.
func TestGroupsAcrossDevicesThatStage(t *testing.T) {
	b := newBridge()
	groups := newGroupsOn(t, 3, linktest.Patience, linktest.Same(sharedtest.LentSpecs...),
		func(i int, s *comm.Store) comm.Device {
			if i == 1 {
				return nil
			}
			return b.move(i, s)
		})
	var futures []*comm.Future
	for i, g := range groups {
		want := "trainer1 does not share its device memory"
		if i == 1 {
			want = "its own memory is not shared"
		}
		if g.Staged(0) != want || g.Library() != "" {
			t.Errorf("%s says %q, by %q", g.Self, g.Staged(0), g.Library())
		}
		futures = append(futures, g.Average(0, g.own.stores[0].Buckets[1]))
	}
	for _, f := range futures {
		commtest.Must(t, f.Wait())
	}
	if b.ends != 0 {
		t.Error("the bridge spans them")
	}
}

// Set-up fails if a device cannot be spanned.
func TestGroupsThatNothingSpans(t *testing.T) {
	g := &group{}
	g.Self = "trainer0"
	broken := bridged{&sharedtest.Card{Apart: errors.New("it is broken")}, newBridge()}
	if err := g.join(broken, sharedtest.LentSpecs, nil); err == nil ||
		err.Error() != "trainer0 cannot join its group: it is broken" {
		t.Errorf("it gives %v", err)
	}
	if g.Library() != "" {
		t.Errorf("it is spanned by %s", g.Library())
	}
}
