package comm

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// sharedGroup is a Group whose members map each other's buckets. T is the number
// of members, S the size of a bucket in bytes; sharedsum.go has the algorithms.
//
// A call posts the operation at once, which is all that the others need to work
// on its bucket. Whoever waits for it then carries it out on its own thread; if
// nobody waits yet, the group's goroutine does.
type sharedGroup struct {
	Collective
	position int
	members  []*sharedMember // by position; this one too
	own      *sharedMember
	conns    []*Conn // by position; nil for this member
	ready    waiting

	watchers sync.WaitGroup

	// Operations run in the order of the calls, numbered from 0. posted counts
	// the calls, and steps holds those that have not ended; Mu guards both.
	posted   uint32
	steps    []*sharedStep
	byBucket []*sharedStep // by bucket index
	barrier  *sharedStep   // one at a time
	// driving is held by whoever carries operations out.
	driving sync.Mutex
	wake    chan struct{}
	quit    chan struct{}
	stop    func() // closes quit
	closing sync.Once
	helper  sync.WaitGroup

	merger    *tensor.RowMerger
	unionRoom []int32 // for the union of any bucket
	union     []int32 // rows of the sparse all-reduce that runs
	block     [BlockElements]float32
}

// sharedStep is one operation of a sharedGroup.
type sharedStep struct {
	group   *sharedGroup
	op      *Reduction // of no bucket for a barrier
	kind    int32
	place   int32
	root    int
	number  uint32
	stored  *tensor.Bucket // of the store
	copied  *tensor.Bucket // of the copies
	used    bool           // its pages are there
	ordinal int            // of the bucket among the specs
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

func newSharedGroup(members Links, position int, store *Store) (*sharedGroup, error) {
	conns, specs := members.Conns, store.Specs()
	g := &sharedGroup{
		position: position, conns: conns, members: make([]*sharedMember, len(conns)),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
		merger: tensor.NewRowMerger(len(conns)),
	}
	g.Init(members.Self, "its group", specs, members.Timeout, func(r *Reduction) func() {
		return func() { g.drive(r) }
	})
	g.Idle = "a pause between operations"
	g.stop = sync.OnceFunc(func() { close(g.quit) })
	g.ready.init(g)
	if err := g.trade(store, specs); err != nil {
		g.hangUp()
		g.unmap()
		return nil, err
	}
	i := -1
	g.byBucket = ByIndex(specs, func(spec tensor.BucketSpec) *sharedStep {
		i++
		g.unionRoom = make([]int32, max(len(g.unionRoom), spec.Capacity))
		return &sharedStep{
			group: g, op: g.Of(spec.Index), ordinal: i,
			stored: store.Buckets[i], copied: g.own.stores[inCopies].Buckets[i],
		}
	})
	g.barrier = &sharedStep{group: g, kind: stepBarrier, op: g.Meeting}
	for i, conn := range conns {
		if i != position {
			g.watchers.Go(func() { g.watch(g.members[i], conn) })
		}
	}
	g.helper.Go(g.help)
	return g, nil
}

// Size implements Group.
func (g *sharedGroup) Size() int { return len(g.members) }

// Position implements Group.
func (g *sharedGroup) Position() int { return g.position }

// AllReduce implements Group. The future's error is a *WaitError at the deadline
// and a *PeerError if a member is gone; either ends the group.
func (g *sharedGroup) AllReduce(batch int64, b *tensor.Bucket) *Future {
	return g.start(stepAllReduce, batch, b, 0)
}

// Average implements Group; errors are those of AllReduce.
func (g *sharedGroup) Average(batch int64, b *tensor.Bucket) *Future {
	return g.start(stepAverage, batch, b, 0)
}

// Broadcast implements Group; errors are those of AllReduce.
func (g *sharedGroup) Broadcast(batch int64, b *tensor.Bucket, root int) *Future {
	if root < 0 || root >= len(g.members) {
		return Completed(fmt.Errorf("%s cannot broadcast from position %d of a group of %d", g.Self, root, len(g.members)))
	}
	return g.start(stepBroadcast, batch, b, root)
}

// watch waits for the end of another member's connection.
func (g *sharedGroup) watch(m *sharedMember, conn *Conn) {
	if err := Watch(conn, g.Awaited, g.Timeout); err != nil {
		g.abort(err)
		return
	}
	m.left.Store(true)
	g.own.bell.Shake()
}

// abort fails the group and everything pending on it. Its memory stays mapped:
// members that are only slow may still use it.
func (g *sharedGroup) abort(err error) {
	g.poison(err)
	g.failPending()
}

// poison fails the group; whoever carries an operation out gives up.
func (g *sharedGroup) poison(err error) {
	if g.Fail(err) {
		g.hangUp()
	}
}

// failPending ends all pending operations of a poisoned group, once nobody
// touches a gradient any more.
func (g *sharedGroup) failPending() {
	g.driving.Lock()
	defer g.driving.Unlock()
	g.Finish()
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.steps = nil
}

func (g *sharedGroup) hangUp() {
	all := Links{Conns: g.conns}
	_ = all.Close()
}

// Close implements GroupLink. Closing again does nothing.
func (g *sharedGroup) Close() error {
	g.closing.Do(g.close)
	return nil
}

func (g *sharedGroup) close() {
	orderly := g.Retire()
	if orderly {
		for _, c := range g.conns {
			if c != nil {
				_ = c.sendBy(time.Now().Add(ByeGrace), &Header{Op: opBye})
			}
		}
	}
	g.hangUp()
	g.failPending()
	g.watchers.Wait()
	g.stop()
	g.helper.Wait()
	if orderly {
		g.unmap()
	}
}

// unmap gives the group's memory back, but for the store, which is the caller's.
func (g *sharedGroup) unmap() {
	for _, m := range g.members {
		if m == nil {
			continue
		}
		if m.control != nil {
			_ = m.control.Close()
		}
		for place, s := range m.stores {
			if s != nil && (m != g.own || int32(place) == inCopies) { // #nosec G115 -- one of two
				_ = s.Close()
			}
		}
	}
}
