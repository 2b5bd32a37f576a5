// Package group runs all-reduce and the other collectives among ranks of one
// host that map each other's buckets. A Relay or Summer connects a group to
// other hosts.
package group

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/hosts"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shared/lent"
	"github.com/psbench/psbench/internal/comm/wire"
)

// group is a comm.Group whose members map each other's buckets. Comments use T
// for the number of members and S for the size of a bucket in bytes; sum.go and
// scatter.go have the algorithms.
//
// A call posts the operation at once, so that the other members can work on
// this member's bucket. A waiter then carries the operation out on its own
// thread; without a waiter the group's goroutine does so.
type group struct {
	op.Collective
	position int       // place among the members of this host
	members  []*member // members of this host, by position, including this one
	layout   hosts.Layout
	sums     Summer // connects to other hosts; nil on one host and at members without it
	relay    Relay  // sums as a Relay, if it is one
	own      *member
	conns    []*wire.Conn // by position; nil for this member
	waits    wait

	watchers sync.WaitGroup

	// Operations run in the order of the calls, numbered from 0. posted counts
	// the calls; steps holds the operations that have not ended. Mu guards
	// both.
	posted   uint32
	steps    []*step
	byBucket []*step // by bucket index
	barrier  *step   // at most one pending
	// driving is held by the goroutine that is carrying operations out.
	driving sync.Mutex
	wake    chan struct{}
	quit    chan struct{}
	stop    func() // closes quit
	closing sync.Once
	helper  sync.WaitGroup

	merger    *tensor.RowMerger
	unionRoom []int32 // buffer for the union of any bucket's rows
	union     []int32 // rows of the current sparse all-reduce
	block     [comm.BlockElements]float32

	parts   [][]float32 // inputs of sumParts, by position
	turn    uint32      // counts turns of slots, over all operations
	slotted bool        // the pages of the slots are allocated

	lent      lent.End           // the members' buckets on a device
	gradients []*tensor.Gradient // inputs of a sparse sum on the device, by position
}

// step is one operation of a group.
type step struct {
	layout.Window
	group   *group
	op      *op.Reduction // has no bucket for a barrier
	kind    int32
	root    int
	number  uint32
	ordinal int // index of the bucket among the specs
}

// Kinds of operation.
const (
	stepAllReduce int32 = iota
	stepAverage
	stepBroadcast
	stepReduceScatter
	stepAllGather
	stepAllToAll
	stepBarrier
)

// stepNames are the operations' names in errors.
var stepNames = [...]string{
	stepAllReduce: "an all-reduce", stepAverage: "an average", stepBroadcast: "a broadcast",
	stepReduceScatter: "a reduce-scatter",
	stepAllGather:     "an all-gather", stepAllToAll: "an all-to-all", stepBarrier: "a barrier",
}

// New joins a group whose members share this host and work in each other's
// memory. Values stay on the device if all members share it; device may be nil.
// The group owns the connections, also after an error.
func New(members wire.Links, position int, store *comm.Store, device comm.Device) (comm.GroupLink, error) {
	return newGroup(members, position, store, device)
}

// NewAcross joins a group on several hosts. here has the connections to the
// members on this host, which work in each other's memory. Members with a
// Summer add the sums of other hosts; the other members pass nil for sums. If
// the Summer is not a Relay, the group can only sum. The group owns the Summer,
// also after an error.
func NewAcross(here wire.Links, at hosts.Layout, store *comm.Store, sums Summer) (comm.GroupLink, error) {
	return newGroupOf(here, at, store, sums, nil)
}

func newGroup(members wire.Links, position int, store *comm.Store, device comm.Device) (*group, error) {
	return newGroupOf(members, hosts.Of(make([]int, len(members.Conns)), position), store, nil, device)
}

// newGroupOf joins a group; members are the ones on this host. The group owns the Summer, also after an error. Values
// stay on the device if all members share it. Summer and device may be nil.
func newGroupOf(members wire.Links, at hosts.Layout, store *comm.Store, sums Summer,
	device comm.Device) (*group, error) {
	conns, specs := members.Conns, store.Specs()
	g := &group{
		position: at.Place, conns: conns, members: make([]*member, len(conns)), parts: make([][]float32, len(conns)),
		layout: at, sums: sums,
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
		merger: tensor.NewRowMerger(len(conns)), gradients: make([]*tensor.Gradient, len(conns)),
	}
	g.relay, _ = sums.(Relay)
	g.Init(members.Self, "its group", specs, members.Timeout, func(r *op.Reduction) func() {
		return func() { g.drive(r) }
	})
	g.Idle = "a pause between operations"
	g.stop = sync.OnceFunc(func() { close(g.quit) })
	g.waits.g = g
	err := g.join(device, specs, store.Lent)
	if err == nil {
		err = g.exchange(store, specs)
	}
	if err == nil {
		err = g.lend(specs)
	}
	if err != nil {
		_ = g.lent.Close() // the first error is the one to return
		g.hangUp()
		if g.sums != nil {
			g.sums.Close(false)
		}
		g.unmap()
		return nil, err
	}
	i := -1
	g.byBucket = op.ByIndex(specs, func(spec tensor.BucketSpec) *step {
		i++
		g.unionRoom = make([]int32, max(len(g.unionRoom), spec.Capacity))
		s := &step{group: g, op: g.Of(spec.Index), ordinal: i}
		s.Stored, s.Copied = store.Buckets[i], g.own.stores[layout.InCopies].Buckets[i]
		if g.lent.Staged == "" {
			s.Lent = store.Lent[i]
		}
		return s
	})
	g.barrier = &step{group: g, kind: stepBarrier, op: g.BarrierOp}
	for i, conn := range conns {
		if i != g.position {
			g.watchers.Go(func() { g.watch(g.members[i], conn) })
		}
	}
	g.helper.Go(g.help)
	return g, nil
}

// Size implements comm.Group.
func (g *group) Size() int { return g.layout.Size }

// Position implements comm.Group.
func (g *group) Position() int { return g.layout.Here()[g.position] }

// isAcross reports whether the group is on several hosts.
func (g *group) isAcross() bool { return len(g.layout.Members) > 1 }

// AllReduce implements comm.Group. The future's error is a *WaitError at the
// deadline and a *PeerError if a member is gone; either ends the group.
func (g *group) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	return g.start(stepAllReduce, batch, b, 0)
}

// Average implements comm.Group, with the errors of AllReduce.
func (g *group) Average(batch int64, b *tensor.Bucket) *comm.Future {
	return g.start(stepAverage, batch, b, 0)
}

// Broadcast implements comm.Group, with the errors of AllReduce.
func (g *group) Broadcast(batch int64, b *tensor.Bucket, root int) *comm.Future {
	if root < 0 || root >= g.Size() {
		return comm.Completed(fmt.Errorf("%s cannot broadcast from position %d of a group of %d", g.Self, root,
			g.Size()))
	}
	return g.start(stepBroadcast, batch, b, root)
}

// watch waits for the end of another member's connection.
func (g *group) watch(m *member, conn *wire.Conn) {
	if err := op.Watch(conn, g.Awaited, g.Timeout); err != nil {
		g.abort(err)
		return
	}
	m.left.Store(true)
	g.own.bell.Shake()
}

// abort fails the group and all its pending operations. The group's memory
// stays mapped, because slow members may still use it.
func (g *group) abort(err error) {
	g.poison(err)
	g.failPending()
}

// poison fails the group and makes a running operation give up.
func (g *group) poison(err error) {
	if g.Fail(err) {
		g.lent.Abort()
		g.hangUp()
	}
}

// failPending fails all pending operations of a failed group, once no goroutine
// touches a gradient any more.
func (g *group) failPending() {
	g.driving.Lock()
	defer g.driving.Unlock()
	g.Mu.Lock()
	g.steps = nil
	g.Mu.Unlock()
	g.Finish()
}

func (g *group) hangUp() {
	all := wire.Links{Conns: g.conns}
	_ = all.Close()
	if g.sums != nil {
		g.sums.HangUp()
	}
}

// Close implements comm.GroupLink. Closing again does nothing.
func (g *group) Close() error {
	g.closing.Do(g.close)
	return nil
}

func (g *group) close() {
	g.lent.Over()
	orderly := g.Retire()
	_ = op.Leave(orderly, g.conns...)
	if !orderly {
		g.lent.Abort()
		g.hangUp()
	}
	g.failPending()
	g.watchers.Wait()
	g.stop()
	g.helper.Wait()
	if g.sums != nil {
		g.sums.Close(orderly)
	}
	if orderly {
		g.unmap()
	}
}

// unmap frees the group's memory, except the store, which the caller owns.
func (g *group) unmap() {
	for _, m := range g.members {
		if m == nil {
			continue
		}
		if m.control != nil {
			_ = m.control.Close()
		}
		for place, s := range m.stores {
			if s != nil && (m != g.own || int32(place) == layout.InCopies) { // #nosec G115 -- one of two
				_ = s.Close()
			}
		}
	}
}
