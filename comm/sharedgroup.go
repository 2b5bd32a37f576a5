package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
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
	operations
	position int
	members  []*sharedMember // by position; this one too
	own      *sharedMember
	conns    []*Conn // by position; nil for this member
	ready    waiting

	dead     atomic.Bool // the group has failed or is closed
	watchers sync.WaitGroup

	// Operations run in the order of the calls, numbered from 0. posted counts
	// the calls, and steps holds those that have not ended; mu guards both.
	posted   uint32
	steps    []*sharedStep
	byBucket []*sharedStep // by bucket index
	meeting  *sharedStep   // the barrier; one at a time
	barriers int64         // started so far
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
}

// sharedStep is one operation of a sharedGroup.
type sharedStep struct {
	group   *sharedGroup
	op      *operation // its spec is empty for a barrier
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
	stepBarrier
)

func newSharedGroup(members Links, position int, store *Store) (*sharedGroup, error) {
	conns, specs := members.Conns, store.Specs()
	g := &sharedGroup{
		operations: newOperations(members.Self, "its group", specs, members.Timeout),
		position:   position, conns: conns, members: make([]*sharedMember, len(conns)),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
		merger: tensor.NewRowMerger(len(conns)),
	}
	g.stop = sync.OnceFunc(func() { close(g.quit) })
	g.ready.init(g)
	if err := g.trade(store, specs); err != nil {
		g.hangUp()
		g.unmap()
		return nil, err
	}
	g.byBucket = make([]*sharedStep, len(g.slots))
	for i, spec := range specs {
		s := &sharedStep{
			group: g, op: g.slots[spec.Index], ordinal: i,
			stored: store.Buckets[i], copied: g.own.stores[inCopies].Buckets[i],
		}
		s.op.future.await = s.await
		g.byBucket[spec.Index] = s
		g.unionRoom = make([]int32, max(len(g.unionRoom), spec.Capacity))
	}
	g.meeting = &sharedStep{group: g, kind: stepBarrier, op: &operation{spec: tensor.BucketSpec{Index: barrierIndex}, future: NewFuture()}}
	g.meeting.op.future.await = g.meeting.await
	g.slots = append(g.slots, g.meeting.op)
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
		return Completed(fmt.Errorf("%s cannot broadcast from position %d of a group of %d", g.self, root, len(g.members)))
	}
	return g.start(stepBroadcast, batch, b, root)
}

// watch reads another member's connection, over which nothing comes but its end.
func (g *sharedGroup) watch(m *sharedMember, conn *Conn) {
	var h Header
	err := conn.readHeader(&h)
	switch {
	case err == nil && h.Op == opBye:
		m.left.Store(true)
		g.own.bell.Shake()
	case err == nil:
		g.abort(fmt.Errorf("%s sent operation %d to %s, whose group works by bells", conn.peer, h.Op, g.self))
	default:
		g.abort(conn.explain(err, g.awaited(), int64(g.timeout)))
	}
}

func (g *sharedGroup) awaited() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if op := g.earliest(); op != nil {
		return op.String()
	}
	return "a pause between operations"
}

// abort fails the group and everything pending on it. Its memory stays mapped:
// members that are only slow may still use it.
func (g *sharedGroup) abort(err error) {
	g.poison(err)
	g.failPending()
}

// poison fails the group; whoever carries an operation out gives up.
func (g *sharedGroup) poison(err error) {
	if !g.fail(err) {
		return
	}
	g.dead.Store(true)
	g.own.bell.Shake()
	g.hangUp()
}

// failPending ends all pending operations of a poisoned group, once nobody
// touches a gradient any more.
func (g *sharedGroup) failPending() {
	g.driving.Lock()
	defer g.driving.Unlock()
	g.finish()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.steps = nil
}

func (g *sharedGroup) hangUp() {
	for _, c := range g.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// Close implements GroupLink. Closing again does nothing.
func (g *sharedGroup) Close() error {
	g.closing.Do(g.close)
	return nil
}

func (g *sharedGroup) close() {
	orderly := g.failIdle(g.closedError())
	g.dead.Store(true)
	g.own.bell.Shake()
	if orderly {
		for _, c := range g.conns {
			if c != nil {
				_ = c.sendBy(time.Now().Add(byeGrace), &Header{Op: opBye})
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
